//! Which callers may connect.
//!
//! The first frame on a connection says who calls and what it takes the world to be. Every mistake
//! in an address, a certificate or a configuration should end here, with words for the person who
//! made it, before a single message of the algorithm is believed.

use super::proof::Digest;
use super::stats::Reason;
use bellwether_api::envelope::{self, ClientHello, Hello, Rejection, Setting, common_version};
use bellwether_core::{Group, NodeId};
use std::collections::BTreeMap;

/// The largest greeting, in bytes: of a process that is not known yet, no larger frame is read. The settings
/// of 64 members fit in a quarter of it.
pub const GREETING_MAX: usize = 64 << 10;

/// What the called process knows.
#[derive(Clone, Copy, Debug)]
pub struct Expected<'a> {
    /// Its cluster's name.
    pub cluster: &'a str,
    /// What it runs.
    pub protocol: &'a str,
    /// Its own number.
    pub me: NodeId,
    /// All members.
    pub group: &'a Group,
    /// Whether these are the members that the configuration lists.
    pub is_configured: bool,
    /// Whether it has no list of the members yet.
    pub joins: bool,
    /// The data folders that are refused.
    pub removed: &'a BTreeMap<NodeId, u64>,
    /// What must be the same at both ends.
    pub settings: &'a [(&'static str, String)],
    /// Its cluster's id; 0 if it does not know one.
    pub cluster_id: u64,
}

/// A caller that may come in, if its certificate is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caller {
    /// Its number.
    pub id: NodeId,
    /// The version to speak with it.
    pub version: u32,
    /// The random number of its start.
    pub instance: u64,
    /// Whether it has another idea of who the members are.
    pub other_group: bool,
    /// What would prove that this start of it has ended.
    pub death_digest: Option<Digest>,
}

/// Why a caller stays out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// For programs.
    pub reason: Reason,
    /// For people.
    pub text: String,
}

impl Refused {
    /// For this reason, and in these words for people.
    pub fn new(reason: Reason, text: impl Into<String>) -> Self {
        Refused { reason, text: text.into() }
    }

    /// As it is told to the caller.
    pub fn to_message(&self) -> Rejection {
        Rejection {
            reason: self.reason.on_the_wire().into(),
            text: self.text.clone(),
            version: envelope::VERSION,
            oldest: envelope::OLDEST,
        }
    }
}

/// Judges a greeting by itself. The version comes first: if it is not shared, the other fields may
/// mean something else.
pub fn judge(hello: &Hello, expected: &Expected<'_>) -> Result<Caller, Refused> {
    let refuse = |reason, text: String| Err(Refused { reason, text });
    let version = judge_version(hello.version, hello.oldest)?;
    judge_cluster(&hello.cluster, expected.cluster)?;
    judge_cluster_id(hello.from, hello.cluster_id, expected)?;
    if hello.protocol != expected.protocol {
        let text = format!(
            "the caller runs `{}`, and this process `{}`",
            printable(&hello.protocol),
            expected.protocol
        );
        return refuse(Reason::Protocol, text);
    }
    let (id, me) = (NodeId::new(hello.from), expected.me);
    if hello.to != me.number() {
        let text = format!(
            "the caller wanted member {}, and this is member {}: an address is wrong",
            hello.to,
            me.number()
        );
        return refuse(Reason::Recipient, text);
    }
    if id == me {
        let number = me.number();
        let text =
            format!("the caller claims number {number}, which is the number of this process");
        return refuse(Reason::UnknownId, text);
    }
    judge_membership(id, hello, expected)?;
    let differ = differences(&hello.settings, id, expected);
    if !differ.is_empty() {
        let text = format!("{id} and {me} must have the same configuration: {}", differ.join(", "));
        return refuse(Reason::Settings, text);
    }
    let other_group =
        expected.is_configured && hello.group != 0 && hello.group != fingerprint(expected.group);
    let death_digest = hello.death_digest.as_ref().try_into().ok();
    Ok(Caller { id, version, instance: hello.instance, other_group, death_digest })
}

/// A removed folder is refused for ever. A caller that is not in the list is let in if it is of the same
/// cluster: its list may be newer than that of this process, which may have been away.
fn judge_membership(id: NodeId, hello: &Hello, expected: &Expected<'_>) -> Result<(), Refused> {
    let (number, me) = (id.number(), expected.me.number());
    if hello.folder != 0 && expected.removed.get(&id) == Some(&hello.folder) {
        let text = format!(
            "member {number} was removed from the cluster. To add it again, empty its data folder and run \
             `bellwether members add {number} ADDRESS`"
        );
        return Err(Refused::new(Reason::Removed, text));
    }
    let is_of_it = expected.joins || (expected.cluster_id != 0 && hello.cluster_id != 0);
    if expected.group.contains(id) || (is_of_it && !hello.address.is_empty()) {
        return Ok(());
    }
    let text = format!(
        "member {me} knows no member {number}; if it is new, `bellwether members add {number} ADDRESS` adds it"
    );
    Err(Refused::new(Reason::UnknownId, text))
}

/// The settings that both know and that differ, with both values.
fn differences(theirs: &[Setting], caller: NodeId, expected: &Expected<'_>) -> Vec<String> {
    let me = expected.me;
    let differs = |(name, ours): &(&'static str, String)| {
        let Setting { value, .. } = theirs.iter().find(|setting| setting.name == *name)?;
        // A list of members is long, and its end matters too.
        let theirs = printable_to(value, 1_000);
        (value != ours).then(|| format!("{name} is {theirs} at {caller} and {ours} at {me}"))
    };
    expected.settings.iter().filter_map(differs).collect()
}

/// Judges a client's greeting by itself, and gives the version to speak. One on the same host need not
/// know the cluster's name.
pub fn judge_client(hello: &ClientHello, cluster: &str, local: bool) -> Result<u32, Refused> {
    let version = judge_version(hello.version, hello.oldest)?;
    if !(local && hello.cluster.is_empty()) {
        judge_cluster(&hello.cluster, cluster)?;
    }
    Ok(version)
}

fn judge_version(newest: u32, oldest: u32) -> Result<u32, Refused> {
    common_version(newest, oldest).ok_or_else(|| {
        let text = format!(
            "the caller speaks protocol versions {oldest} to {newest}, and this process {} to {}",
            envelope::OLDEST,
            envelope::VERSION
        );
        Refused::new(Reason::Version, text)
    })
}

fn judge_cluster(theirs: &str, ours: &str) -> Result<(), Refused> {
    if theirs == ours {
        return Ok(());
    }
    let theirs = printable(theirs);
    let text = format!("the caller is of cluster `{theirs}`, and this process of `{ours}`");
    Err(Refused::new(Reason::Cluster, text))
}

/// A process that does not know its cluster's id yet learns it from the members that let it in.
fn judge_cluster_id(caller: u32, theirs: u64, expected: &Expected<'_>) -> Result<(), Refused> {
    let (ours, me) = (expected.cluster_id, expected.me.number());
    if theirs == ours || theirs == 0 || ours == 0 {
        return Ok(());
    }
    let text = format!(
        "member {caller} is of cluster id {theirs:016x}, and member {me} of {ours:016x}: two clusters \
         have the same name. Stop the member that does not belong here, or give it the right data folder"
    );
    Err(Refused::new(Reason::Cluster, text))
}

/// A hash of who the members are, whatever their order (FNV-1a over their numbers).
pub(crate) fn fingerprint(group: &Group) -> u64 {
    let bytes = group.ascending().flat_map(|id| id.number().to_le_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// What a stranger says, fit for a log: short and without control characters.
fn printable(text: &str) -> String {
    printable_to(text, 60)
}

/// The same with room for this many characters.
fn printable_to(text: &str, most: usize) -> String {
    text.chars().take(most).flat_map(char::escape_default).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(name: &str, value: &str) -> Setting {
        Setting { name: name.to_owned(), value: value.to_owned() }
    }

    fn judged(change: impl FnOnce(&mut Hello)) -> Result<Caller, Reason> {
        refusal(change).map_err(|refused| refused.reason)
    }

    fn refusal(change: impl FnOnce(&mut Hello)) -> Result<Caller, Refused> {
        let group = Group::numbered(3).unwrap();
        let me = NodeId::new(1);
        let settings = [("lease", "500ms".to_owned()), ("drift_ppm", "500".to_owned())];
        let (protocol, settings) = ("member", &settings[..]);
        let cluster_id = 0xa;
        let removed = BTreeMap::from([(NodeId::new(5), 0xf)]);
        let expected = Expected {
            cluster: "test",
            protocol,
            me,
            group: &group,
            is_configured: true,
            joins: false,
            removed: &removed,
            settings,
            cluster_id,
        };
        let mut hello = Hello {
            version: envelope::VERSION,
            oldest: envelope::OLDEST,
            cluster: "test".into(),
            protocol: "member".into(),
            from: 2,
            to: 1,
            life: 0,
            instance: 77,
            group: fingerprint(&group),
            settings: vec![setting("lease", "500ms")],
            cluster_id: 0xa,
            address: String::new(),
            http: String::new(),
            folder: 0xe,
            death_digest: Default::default(),
        };
        change(&mut hello);
        judge(&hello, &expected)
    }

    #[test]
    fn a_right_greeting_is_accepted() {
        let (id, instance) = (NodeId::new(2), 77);
        let caller = Caller { id, version: 1, instance, other_group: false, death_digest: None };
        assert_eq!(judged(|_| {}), Ok(caller));
        assert!(judged(|hello| hello.group = 1).unwrap().other_group);
        assert_eq!(judged(|hello| hello.version += 1), Ok(caller));
    }

    #[test]
    fn every_mistake_has_its_reason() {
        assert_eq!(judged(|hello| hello.version = 0), Err(Reason::Version));
        let newer = |hello: &mut Hello| (hello.version, hello.oldest) = (9, 8);
        assert_eq!(judged(newer), Err(Reason::Version));
        assert_eq!(judged(|hello| hello.cluster = "prod".into()), Err(Reason::Cluster));
        assert_eq!(judged(|hello| hello.protocol = "host/bully".into()), Err(Reason::Protocol));
        assert_eq!(judged(|hello| hello.to = 3), Err(Reason::Recipient));
        assert_eq!(judged(|hello| hello.from = 4), Err(Reason::UnknownId));
        assert_eq!(judged(|hello| hello.from = 1), Err(Reason::UnknownId));
    }

    #[test]
    fn a_member_of_another_cluster_of_the_same_name_is_refused_with_both_ids() {
        assert!(judged(|hello| hello.cluster_id = 0).is_ok(), "it does not know one yet");
        let refused = refusal(|hello| hello.cluster_id = 0xb).unwrap_err();
        assert_eq!(refused.reason, Reason::Cluster);
        let ids = "member 2 is of cluster id 000000000000000b, and member 1 of 000000000000000a";
        assert!(refused.text.starts_with(ids), "{}", refused.text);
    }

    #[test]
    fn a_member_that_is_not_in_the_list_proves_that_it_is_of_the_cluster() {
        let newcomer = |hello: &mut Hello| (hello.from, hello.address) = (4, "host:7400".into());
        assert_eq!(judged(newcomer).map(|caller| caller.id), Ok(NodeId::new(4)));
        let knows_nothing = |hello: &mut Hello| {
            newcomer(hello);
            hello.cluster_id = 0;
        };
        assert_eq!(judged(knows_nothing), Err(Reason::UnknownId));
        let refused = refusal(|hello| hello.from = 4).unwrap_err();
        assert!(refused.text.contains("`bellwether members add 4 ADDRESS`"), "{}", refused.text);
    }

    #[test]
    fn the_folder_of_a_removed_member_is_refused_and_another_is_not() {
        let removed = |folder| {
            move |hello: &mut Hello| {
                (hello.from, hello.address, hello.folder) = (5, "host:7400".into(), folder)
            }
        };
        assert_eq!(judged(removed(0xf)), Err(Reason::Removed));
        assert!(judged(removed(0x1)).is_ok(), "a newer list may have added it again");
    }

    /// Finding c: a member with a longer lease would lead beside the one that the others follow.
    #[test]
    fn settings_that_differ_are_refused_with_both_values() {
        let theirs = [setting("lease", "3s"), setting("drift_ppm", "500"), setting("new", "1")];
        let refused = refusal(|hello| hello.settings = theirs.to_vec()).unwrap_err();
        assert_eq!(refused.reason, Reason::Settings);
        let text = "P2 and P1 must have the same configuration: lease is 3s at P2 and 500ms at P1";
        assert_eq!(refused.text, text);
        assert!(judged(|hello| hello.settings.clear()).is_ok(), "an older version says nothing");
    }

    #[test]
    fn a_client_says_which_cluster_it_means_unless_it_is_here() {
        let judged = |cluster: &str, version, local| {
            let hello =
                ClientHello { version, oldest: 1, cluster: cluster.into(), ..<_>::default() };
            judge_client(&hello, "test", local).map_err(|refused| refused.reason)
        };
        assert_eq!(judged("test", 1, false), Ok(1));
        assert_eq!(judged("test", 9, false), Ok(envelope::VERSION));
        assert_eq!(judged("", 1, true), Ok(1));
        assert_eq!(judged("", 1, false), Err(Reason::Cluster));
        assert_eq!(judged("prod", 1, true), Err(Reason::Cluster));
        assert_eq!(judged("test", 0, true), Err(Reason::Version));
    }

    #[test]
    fn the_fingerprint_is_of_the_members_not_of_their_order() {
        let group = |numbers: &[u32]| {
            Group::new(numbers.iter().copied().map(NodeId::new).collect()).unwrap()
        };
        assert_eq!(fingerprint(&group(&[1, 2, 3])), fingerprint(&group(&[3, 1, 2])));
        assert_ne!(fingerprint(&group(&[1, 2, 3])), fingerprint(&group(&[1, 2, 4])));
    }
}
