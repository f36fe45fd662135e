//! Payloads of types of the program, which arrive as they were.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use rayon::prelude::*;

use crate::case::Shape::{Items, Rows};
use crate::case::{Form, Item};

pub const FORMS: &[Form] = &[
    ("payload of for_each", Items, |case| {
        case.run_with_payload(case.bad_items(), || {
            (0..case.count).into_par_iter().for_each(|key| case.trip_with_payload(key));
        });
    }),
    ("payload of collect", Items, |case| {
        let items = case.items();
        case.run_with_payload(case.bad_items(), || {
            let items: Vec<Item> = items
                .into_par_iter()
                .map(|item| {
                    case.trip_with_payload(item.key);
                    item
                })
                .collect();
            case.alive(&items);
        });
    }),
    ("payload of sum", Items, |case| {
        let numbers: Vec<f64> = (0..case.count).map(|key| key as f64).collect();
        case.run_with_payload(case.bad_items(), || {
            numbers
                .par_iter()
                .map(|number| {
                    case.trip_with_payload(*number as usize);
                    number.sqrt()
                })
                .sum::<f64>()
        });
    }),
    ("payload of reduce", Items, |case| {
        case.run_with_payload(case.bad_items(), || {
            (0..case.count)
                .into_par_iter()
                .map(|key| {
                    case.trip_with_payload(key);
                    case.item(key)
                })
                .reduce(|| case.item(0), |a, b| if a.key < b.key { b } else { a })
                .key
        });
    }),
    ("payload of a method", Rows, |case| {
        let mut rows: Vec<Vec<Item>> = (0..case.count).map(|row| case.row(row)).collect();
        case.run_with_payload(case.bad_rows(1), || {
            rows.par_iter_mut().for_each(|items| {
                items.retain(|item| {
                    case.trip_with_payload(item.key);
                    item.key % 2 == 0
                });
            });
        });
        case.alive(rows.iter().flatten());
    }),
    ("payload that is resumed", Items, |case| {
        case.run_with_payload(case.bad_items(), || {
            (0..case.count).into_par_iter().for_each(|key| {
                let work = AssertUnwindSafe(|| case.trip_with_payload(key));
                if let Err(payload) = catch_unwind(work) {
                    let held = case.item(key);
                    let again = AssertUnwindSafe(|| resume_unwind(payload));
                    let payload = catch_unwind(again).expect_err("it panics");
                    drop(held);
                    resume_unwind(payload);
                }
            });
        });
    }),
    ("payload through an inner pipeline", Items, |case| {
        case.run_with_payload(case.bad_items(), || {
            (0..case.count.div_ceil(10)).into_par_iter().for_each(|part| {
                let keys = part * 10..case.count.min(part * 10 + 10);
                keys.into_par_iter().for_each(|key| case.trip_with_payload(key));
            });
        });
    }),
];
