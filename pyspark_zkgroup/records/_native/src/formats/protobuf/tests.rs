use super::{ProtobufParser, Step, FRAMES_MAX};
use crate::array::Array;
use crate::formats::parsed::Parser;

fn step(name: &str, numbers: &[i64], texts: &[&str]) -> Step {
    (name.to_owned(), numbers.to_vec(), texts.iter().map(|one| (*one).to_owned()).collect())
}

fn parser(words: &str, steps: &[Step]) -> ProtobufParser {
    let mut made = ProtobufParser::new(words.split(' '), false).expect("a parser");
    let none: [Option<&[u8]>; 1] = [Some(&[])];
    assert_eq!(made.parse(none.into_iter()).unknown, Some(0));
    assert!(made.add(0, steps));
    made
}

fn ints(array: &Array<'_>) -> Vec<i32> {
    let bytes = array.buffers.get(1).and_then(Option::as_ref).expect("values");
    bytes.chunks(4).map(|four| i32::from_ne_bytes(four.try_into().expect("four"))).collect()
}

/// int32 a = 1; repeated int32 b = 2;
fn flat() -> [Step; 2] {
    [
        step("int32", &[4], &[]),
        step("message", &[18, 2, 1, 0, 0, 0, -1, 2, 0, 1, 1, -1], &["a", "", "b", ""]),
    ]
}

#[test]
fn the_last_of_a_field_counts_and_repeated_ones_grow() {
    let mut parser = parser("struct 2 a int b array int", &flat());
    let values: [&[u8]; 2] = [&[8, 1, 16, 5, 8, 2, 18, 2, 6, 7], &[16, 8]];
    let parsed = parser.parse(values.iter().map(|value| Some(*value)));
    assert_eq!((parsed.rows, parsed.bad), (2, 0));
    let children = &parsed.values.children;
    assert_eq!((ints(&children[0]), children[0].nulls), (vec![2, 0], 1));
    assert_eq!(ints(&children[1].children[0]), [5, 6, 7, 8]);
}

#[test]
fn a_message_that_ends_early_leaves_nothing() {
    let mut parser = parser("struct 2 a int b array int", &flat());
    let values: [&[u8]; 4] = [&[16, 5], &[16, 6, 18, 2, 7], &[13, 0, 0, 0, 0], &[16, 9]];
    let parsed = parser.parse(values.iter().map(|value| Some(*value)));
    assert_eq!((parsed.rows, parsed.bad), (4, 2));
    assert_eq!(ints(&parsed.values.children[1].children[0]), [5, 9]);
}

#[test]
fn parts_of_a_message_become_one_and_a_oneof_keeps_the_last() {
    let steps = [
        step("int32", &[4], &[]),
        step("message", &[18, 2, 1, 0, 0, 0, -1, 2, 0, 1, 0, -1], &["a", "", "b", ""]),
        step("message", &[27, 2, 1, 1, 0, 0, 0, 2, 0, 1, 0, 0], &["m", "", "n", ""]),
    ];
    let mut parser = parser("struct 2 m struct 2 a int b int n int", &steps);
    let values: [&[u8]; 3] = [
        &[10, 2, 8, 1, 10, 2, 16, 2],        // both parts
        &[10, 2, 8, 1, 16, 3],               // cleared
        &[10, 2, 8, 1, 16, 3, 10, 2, 16, 4], // only the second part is left
    ];
    let parsed = parser.parse(values.iter().map(|value| Some(*value)));
    assert_eq!((parsed.rows, parsed.bad), (3, 0));
    let [message, number] = &parsed.values.children[..] else { panic!("two") };
    assert_eq!((message.nulls, number.nulls), (1, 2));
    assert_eq!(ints(&message.children[0]), [1, 0, 0]);
    assert_eq!(ints(&message.children[1]), [2, 0, 4]);
    let cleared: [&[u8]; 1] = [&[10, 1, 8, 16, 3]];
    assert_eq!(parser.parse(cleared.iter().map(|value| Some(*value))).bad, 1);
}

#[test]
fn frames_name_a_schema_and_a_message() {
    let mut parser = ProtobufParser::new("struct 1 a int".split(' '), true).expect("a parser");
    let values: [&[u8]; 4] = [
        &[0, 0, 0, 0, 7, 0, 8, 1],
        &[0, 0, 0, 0, 7, 2, 0, 8, 2], // the same message, written longer
        &[1, 0, 0, 0, 7, 0],
        &[0, 0, 0, 0, 7, 4, 2, 0],
    ];
    let parse = |parser: &mut ProtobufParser, from: usize| {
        let parsed = parser.parse(values[from..].iter().map(|value| Some(*value)));
        (parsed.rows, parsed.bad, parsed.unknown)
    };
    assert_eq!(parse(&mut parser, 0), (0, 0, Some(0)));
    assert_eq!(parser.frame(0), Some(&(7, vec![0])));
    let steps = [step("int32", &[4], &[]), step("message", &[9, 1, 1, 0, 0, 0, -1], &["a", ""])];
    assert!(parser.add(0, &steps));
    assert_eq!(parse(&mut parser, 0), (3, 1, Some(1)));
    assert_eq!(parser.frame(1), Some(&(7, vec![1, 0])));
}

#[test]
fn what_is_no_program_is_refused() {
    for steps in [
        vec![],
        vec![step("nothing", &[], &[])],
        vec![step("int32", &[4], &[])],
        vec![step("message", &[9, 1, 1, 7, 0, 0, -1], &["a", ""])],
        vec![step("message", &[9, 2, 1, 0], &["a", ""])],
    ] {
        let mut parser = ProtobufParser::new("struct 1 a int".split(' '), false).expect("one");
        assert!(!parser.add(0, &steps));
    }
}

#[test]
fn frames_that_damaged_records_name_are_forgotten() {
    let mut parser = ProtobufParser::new("struct 1 a int".split(' '), true).expect("a parser");
    let steps = [step("int32", &[4], &[]), step("message", &[9, 1, 1, 0, 0, 0, -1], &["a", ""])];
    for schema in 0u32..3000 {
        let [a, b, c, d] = schema.to_be_bytes();
        let value: &[u8] = &[0, a, b, c, d, 0, 8, 1];
        let number = parser.parse([Some(value)].into_iter()).unknown.expect("a new frame");
        assert_eq!(parser.frame(number), Some(&(schema, vec![0])));
        assert!(parser.add(number, &steps));
        assert_eq!(parser.parse([Some(value)].into_iter()).bad, 0);
        assert!(parser.frames.len() <= FRAMES_MAX);
    }
}
