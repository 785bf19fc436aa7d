//! What the coordinator keeps for its clients, as an operator sees it: `bellwether sessions`,
//! `roles`, `locks` and `deadlocks`.

mod check;
pub(crate) mod deadlocks;
pub(crate) mod locks;
mod picture;
pub(crate) mod roles;
pub(crate) mod sessions;

use bellwether_api::coordination::Coordination;
use comfy_table::{ContentArrangement, Table, presets};

/// A table with these columns.
pub(crate) fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::UTF8_HORIZONTAL_ONLY);
    table.set_content_arrangement(ContentArrangement::Dynamic).set_width(110);
    table.set_header(header);
    table
}

/// The lines below every table: which member answered, and what is not shown.
fn below(all: &Coordination) -> String {
    let coordinator = match all.coordinator {
        Some(id) if id == all.id => "the coordinator".to_owned(),
        Some(id) => format!("coordinator P{id}"),
        None => "no coordinator".to_owned(),
    };
    // No member has the number 0: it is what etcd says.
    if all.id == 0 {
        return "as etcd has it\n".to_owned();
    }
    let term = all.term;
    let mut text = format!("as seen by P{}, {coordinator}, in term {term}\n", all.id);
    if all.left_out > 0 {
        text += &format!("{} more are not shown\n", all.left_out);
    }
    text
}

/// Names in a row; a dash if there are none.
fn names(list: &[String]) -> String {
    if list.is_empty() { "-".to_owned() } else { list.join(", ") }
}

/// The time of day of a moment that is given with its date. The day is mostly today, and the table
/// has little room.
fn clock(at: &str) -> &str {
    let time = at.split_once('T').map(|(_, time)| time);
    time.and_then(|time| time.strip_suffix('Z')).unwrap_or(at)
}

/// A name as a part of an address.
pub(crate) fn escaped(name: &str) -> String {
    let mut text = String::new();
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                text.push(char::from(byte));
            }
            byte => text += &format!("%{byte:02X}"),
        }
    }
    text
}

/// A number with its noun.
fn count(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_said_whose_word_it_is() {
        let mut all =
            Coordination { id: 2, coordinator: Some(3), term: 7, ..Coordination::default() };
        assert_eq!(below(&all), "as seen by P2, coordinator P3, in term 7\n");
        all.coordinator = Some(2);
        all.left_out = 12;
        let text = below(&all);
        assert_eq!(text, "as seen by P2, the coordinator, in term 7\n12 more are not shown\n");
    }

    #[test]
    fn a_time_of_day_is_enough() {
        assert_eq!(clock("2026-11-16T09:30:00.125Z"), "09:30:00.125");
        assert_eq!(clock("soon"), "soon");
    }
}
