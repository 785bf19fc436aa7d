//! What the explorer's page asks for, and the answers: catalogue, gallery, runs.
//!
//! A run is described by a scenario, and by nothing else: the page sends the text and gets the
//! events. So a link, a file and a saved counterexample are the same thing, and what the page
//! shows can be repeated on the command line.
//!
//! Nothing here knows who asks. The laboratory's server passes requests on from HTTP; in a page
//! without a server this crate runs in the browser itself, compiled to WebAssembly. Both get the
//! same bytes.

mod answer;
mod catalogue;
mod costs;
mod essays;
mod gallery;
mod next;
mod run;
mod scenarios;
pub mod wire;
mod wrong;

pub use answer::{Answer, CATALOGUE, GALLERY, NEXT, RUN, WRONG};
pub use catalogue::LIMITS;
pub use run::{MayGoOn, Refused};
pub use scenarios::{scenario, scenarios};

use bellwether_algorithms::catalogue::Catalogue;
use std::sync::OnceLock;

/// Answers what a page asks about the algorithms of a catalogue.
#[derive(Debug)]
pub struct Explorer {
    known: Catalogue,
    catalogue: OnceLock<wire::Catalogue>,
    gallery: OnceLock<wire::Gallery>,
    costs: costs::Costs,
}

impl Explorer {
    /// For the algorithms of this catalogue.
    #[must_use]
    pub fn new(known: Catalogue) -> Explorer {
        let (catalogue, gallery) = (OnceLock::new(), OnceLock::new());
        Explorer { known, catalogue, gallery, costs: costs::Costs::default() }
    }

    /// All that can be chosen.
    pub fn catalogue(&self) -> &wire::Catalogue {
        self.catalogue.get_or_init(|| catalogue::describe_all(&self.known))
    }

    /// The runs that are worth looking at. What the list has wrong is left out; a test says that
    /// nothing is.
    pub fn gallery(&self) -> &wire::Gallery {
        self.gallery.get_or_init(|| gallery::gallery(&self.known))
    }

    /// Plays what a page asks for, as long as it may.
    pub fn run(
        &self,
        request: &wire::RunRequest,
        may_go_on: MayGoOn<'_>,
    ) -> Result<wire::Run, Refused> {
        run::caught(&request.scenario, || run::run(self, request, may_go_on))
    }

    /// What could happen next at a moment of a run.
    pub fn next(
        &self,
        request: &wire::NextRequest,
        may_go_on: MayGoOn<'_>,
    ) -> Result<wire::Next, Refused> {
        run::caught(&request.scenario, || next::next(self, request, may_go_on))
    }

    /// What could go wrong from a moment of a run on: the shortest way that the checker finds.
    pub fn wrong(
        &self,
        request: &wire::NextRequest,
        may_go_on: MayGoOn<'_>,
    ) -> Result<wire::Wrong, Refused> {
        run::caught(&request.scenario, || wrong::wrong(self, request, may_go_on))
    }
}

/// The command line's catalogue, for tests: the gallery has runs of the member.
#[cfg(test)]
fn with_member() -> &'static Catalogue {
    static CATALOGUE: OnceLock<Catalogue> = OnceLock::new();
    CATALOGUE.get_or_init(|| {
        bellwether_algorithms::catalogue::catalogue().with::<bellwether_member::Member>()
    })
}
