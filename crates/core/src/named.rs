//! Enums whose variants have names.

/// Declares an enum whose variants have names, each said once: `ALL` lists the variants, and `name`
/// says what one is called.
///
/// ```
/// bellwether_core::named! {
///     /// What can be seen in the sky.
///     #[derive(Clone, Copy, Debug, PartialEq)]
///     pub enum Body {
///         /// By day.
///         Sun = "sun",
///         /// By night.
///         Moon = "moon",
///     }
/// }
/// assert_eq!(Body::ALL.map(Body::name), ["sun", "moon"]);
/// ```
#[macro_export]
macro_rules! named {
    (
        $(#[$meta:meta])*
        $vis:vis enum $enum:ident {
            $($(#[$doc:meta])* $variant:ident = $name:literal,)+
        }
    ) => {
        $(#[$meta])*
        $vis enum $enum {
            $($(#[$doc])* $variant,)+
        }

        impl $enum {
            /// All of them.
            $vis const ALL: [$enum; [$($name),+].len()] = [$($enum::$variant),+];

            /// What it is called.
            $vis fn name(self) -> &'static str {
                match self {
                    $($enum::$variant => $name,)+
                }
            }
        }
    };
}
