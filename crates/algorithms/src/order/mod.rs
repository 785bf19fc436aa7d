//! Order: broadcasts that everybody delivers in causal order, or in one order everywhere.
