//! The list of checks that the documentation shows: one paragraph each.

/// All checks, in their order.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct List {
    pub(crate) rows: Vec<Row>,
}

/// One check.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Row {
    /// Where it begins in the file.
    pub(crate) line: usize,
    /// The part of the page that it belongs to.
    pub(crate) heading: String,
    /// The words after `bellwether check`.
    pub(crate) words: Vec<String>,
    /// What must come of it: `proved`, `unfinished`, or `violated` and a property.
    pub(crate) expect: String,
    /// Whether it is over in a moment.
    pub(crate) quick: bool,
    /// The name of its picture, if its counterexample is one for the gallery.
    pub(crate) picture: Option<String>,
    /// What stands above that.
    pub(crate) title: String,
    /// Why it is there.
    pub(crate) why: String,
}

impl List {
    /// Reads a list; an error says in which line.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut list = List::default();
        let mut heading = String::new();
        let mut open = false;
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            let number = number + 1;
            if line.is_empty() {
                open = false;
                continue;
            }
            if line.starts_with('#') {
                continue;
            }
            let (verb, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
            let rest = rest.trim();
            match (verb, list.rows.last_mut().filter(|_| open)) {
                ("heading", None) => heading = rest.to_owned(),
                ("check", None) if !rest.is_empty() => {
                    open = true;
                    let words = rest.split_whitespace().map(str::to_owned).collect();
                    let heading = heading.clone();
                    list.rows.push(Row { line: number, heading, words, ..Row::default() });
                }
                ("expect", Some(row)) => row.expect = expected(number, rest)?,
                ("quick", Some(row)) if rest.is_empty() => row.quick = true,
                ("picture", Some(row)) if is_name(rest) => row.picture = Some(rest.to_owned()),
                ("title", Some(row)) => row.title = rest.to_owned(),
                ("why", Some(row)) => {
                    let gap = if row.why.is_empty() { "" } else { " " };
                    row.why = format!("{}{gap}{rest}", row.why);
                }
                _ => return Err(format!("{number}: '{line}' is not expected here; {FORMAT}")),
            }
        }
        for row in &list.rows {
            if row.expect.is_empty() {
                return Err(format!("{}: there is no expect line; {FORMAT}", row.line));
            }
            if row.picture.is_some() && !row.expect.starts_with("violated") {
                let line = row.line;
                return Err(format!("{line}: a picture shows what is violated; leave it out"));
            }
        }
        Ok(list)
    }
}

const FORMAT: &str = "a check is a paragraph: check ARGUMENTS, expect VERDICT, and if wanted \
                      quick, picture NAME, title TEXT, why TEXT; between them heading TEXT";

fn expected(number: usize, text: &str) -> Result<String, String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    match words[..] {
        ["proved"] | ["unfinished"] | ["violated", _] => Ok(words.join(" ")),
        _ => Err(format!(
            "{number}: '{text}' is no verdict; expect proved, violated PROPERTY or unfinished"
        )),
    }
}

/// Whether it can be a file's name.
fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_is_a_paragraph() {
        let text = "# A comment.\nheading Elections\n\ncheck bully --nodes 3\nexpect proved\nquick\n\
                    why One.\nwhy Two.\n\ncheck bully --partition 1|2,3\nexpect  violated  x\n\
                    picture a-b\ntitle Split\n";
        let list = List::parse(text);
        let Ok(List { rows }) = list else { panic!("{list:?}") };
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[0].words, ["bully", "--nodes", "3"]);
        assert_eq!((rows[0].line, rows[0].quick, rows[0].why.as_str()), (4, true, "One. Two."));
        assert_eq!(rows[1].heading, "Elections");
        assert_eq!(rows[1].expect, "violated x");
        assert_eq!(rows[1].picture.as_deref(), Some("a-b"));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        for (text, complaint) in [
            ("expect proved\n", "1: 'expect proved' is not expected here"),
            ("check bully\nexpect maybe\n", "2: 'maybe' is no verdict"),
            ("check bully\nexpect violated\n", "2: 'violated' is no verdict"),
            ("\ncheck bully\n\ncheck ring\nexpect proved\n", "2: there is no expect line"),
            ("check bully\ncheck ring\n", "2: 'check ring' is not expected here"),
            ("check bully\nexpect proved\npicture ../x\n", "3: 'picture ../x'"),
            ("check bully\nexpect proved\npicture x\n", "1: a picture shows what is violated"),
            ("check\n", "1: 'check'"),
        ] {
            let error = List::parse(text).err().unwrap_or_default();
            assert!(error.starts_with(complaint), "{text}: {error}");
        }
    }
}
