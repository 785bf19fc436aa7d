//! Whether this process may be pushed aside by any other. A member that gets no processor looks dead,
//! however long its heartbeats are: measured in docs/performance.md.

/// What to say of a process that runs with low priority, if this one does.
pub fn low_priority() -> Option<String> {
    warning(rustix::process::getpriority_process(None).unwrap_or_default())
}

fn warning(nice: i32) -> Option<String> {
    (nice > 0).then(|| {
        format!(
            "runs with low priority (nice {nice}): beside busy programs it may get no processor \
             time for longer than a lease, and then the coordinator changes needlessly; start it \
             without `nice`, or let root `renice` it to 0"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_low_priority_is_told_of() {
        assert_eq!((warning(0), warning(-5)), (None, None));
        let text = warning(19).unwrap();
        assert!(text.contains("nice 19") && text.contains("renice"), "{text}");
    }
}
