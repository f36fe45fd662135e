//! What is said of functions that call themselves, where a device has no stack for it.

/// What stands for functions that are called through pointers, on devices that have no pointers to
/// functions.
pub(crate) const DISPATCHER: &str = "schism.dispatch.";

/// A circle of calls, in the words of the program: `functions` are their symbols.
pub(crate) fn describe<'n>(functions: impl IntoIterator<Item = &'n str>) -> String {
    let names: Vec<&str> = functions.into_iter().collect();
    let by_pointer = names.iter().any(|name| name.starts_with(DISPATCHER));
    let paths: Vec<String> = names
        .into_iter()
        .filter(|name| !name.starts_with(DISPATCHER))
        .map(|name| format!("{:#}", rustc_demangle::demangle(name)))
        .collect();
    if by_pointer && paths.iter().any(|path| path.contains("core::fmt::")) {
        return "recursion (`write!` and its like format text by functions that call each other through pointers)".to_owned();
    }
    let path = paths.into_iter().next().unwrap_or_default();
    let through = if by_pointer { ", through a pointer" } else { "" };
    format!("recursion (`{path}` calls itself{through})")
}

#[cfg(test)]
mod tests {
    use super::describe;

    #[test]
    fn names_are_the_programs() {
        assert_eq!(describe(["again"]), "recursion (`again` calls itself)");
        let visit = "_ZN38_$LT$a6..Expr$u20$as$u20$a6..Visit$GT$5visit17h0123456789abcdefE";
        let said = describe(["schism.dispatch.0", visit]);
        assert_eq!(
            said,
            "recursion (`<a6::Expr as a6::Visit>::visit` calls itself, through a pointer)"
        );
        let said = describe(["schism.dispatch.0", "_ZN4core3fmt5write17h0123456789abcdefE"]);
        assert!(said.starts_with("recursion (`write!`") && !said.contains("dispatch"), "{said}");
    }
}
