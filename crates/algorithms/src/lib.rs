//! The catalogue: every algorithm once, as a state machine without I/O.
//!
//! One algorithm is one file. Its module documentation states the problem, the source, the
//! numbered rules, what it assumes and what it costs; the code below marks each rule where it is
//! applied.
//!
//! A family's `mod.rs` lists its algorithms, each in one line: the file and the process in it. All
//! else that lists algorithms is derived from there, the [`catalogue`] first of all.

/// The documentation at the head of a file, for [`Entry::docs`](definition::Entry::docs) and
/// [`Docs`](definition::Docs). The rest of the file does not become a part of the program.
#[macro_export]
macro_rules! essay {
    ($file:literal) => {{
        const SOURCE: &str = include_str!($file);
        const HEAD: [u8; $crate::definition::head_len(SOURCE)] = $crate::definition::head(SOURCE);
        const TEXT: &str = match std::str::from_utf8(&HEAD) {
            Ok(text) => text,
            Err(_) => "",
        };
        TEXT
    }};
}

/// Declares the algorithms of a family: their modules, and the function `listed`, which adds them to
/// a catalogue. Where they are listed within a shell, such as the failure detector of elections, the
/// shell comes first: `Watched: bully::Bully, ring::Ring`.
macro_rules! family {
    ($($module:ident::$algorithm:ident),+ $(,)?) => {
        $(pub mod $module;)+
        $(pub use $module::$algorithm;)+

        pub(crate) fn listed(catalogue: crate::catalogue::Catalogue) -> crate::catalogue::Catalogue {
            catalogue$(.with::<$algorithm>())+
        }
    };
    ($shell:ident: $($module:ident::$algorithm:ident),+ $(,)?) => {
        $(pub mod $module;)+
        $(pub use $module::$algorithm;)+

        pub(crate) fn listed(catalogue: crate::catalogue::Catalogue) -> crate::catalogue::Catalogue {
            catalogue$(.with::<$shell<$algorithm>>())+
        }
    };
}

pub mod agreement;
pub mod catalogue;
mod coding;
pub mod cost;
pub mod deadlock;
pub mod definition;
pub mod duty;
pub mod election;
mod entry;
mod erase;
pub mod mutex;
pub mod options;
pub mod order;
pub mod referee;
pub mod rings;
pub mod show;
pub mod snapshot;
pub mod time;
pub mod views;

/// The examples of the documentation are tests too.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/clocks.md")]
mod pages {}
