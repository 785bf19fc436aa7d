//! Commands of a crate for the program that offers them.

/// Makes a public type of a private enumeration of commands, which derives `clap::Subcommand`.
///
/// For every type that clap derives, there is code to update a value in place, which takes as much
/// as all else and is never called. Behind this type no other crate can call it, so it is not
/// compiled.
#[macro_export]
macro_rules! commands {
    ($(#[$doc:meta])* $visible:vis struct $name:ident($commands:ty);) => {
        $(#[$doc])*
        $visible struct $name($commands);

        impl ::clap::Subcommand for $name {
            fn augment_subcommands(command: ::clap::Command) -> ::clap::Command {
                <$commands as ::clap::Subcommand>::augment_subcommands(command)
            }

            fn augment_subcommands_for_update(command: ::clap::Command) -> ::clap::Command {
                Self::augment_subcommands(command)
            }

            fn has_subcommand(name: &str) -> bool {
                <$commands as ::clap::Subcommand>::has_subcommand(name)
            }
        }

        impl ::clap::FromArgMatches for $name {
            fn from_arg_matches(matches: &::clap::ArgMatches) -> Result<Self, ::clap::Error> {
                Self::from_arg_matches_mut(&mut matches.clone())
            }

            fn from_arg_matches_mut(
                matches: &mut ::clap::ArgMatches,
            ) -> Result<Self, ::clap::Error> {
                <$commands as ::clap::FromArgMatches>::from_arg_matches_mut(matches).map($name)
            }

            fn update_from_arg_matches(
                &mut self,
                matches: &::clap::ArgMatches,
            ) -> Result<(), ::clap::Error> {
                *self = Self::from_arg_matches(matches)?;
                Ok(())
            }
        }
    };
}
