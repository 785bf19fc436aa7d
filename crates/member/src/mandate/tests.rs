//! One test for each rule.
