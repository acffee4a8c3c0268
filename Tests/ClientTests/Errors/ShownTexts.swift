import Foundation

/// All that an app, a log or a debugger can make visible of a value.
func shownTexts(of value: Any) -> String {
    var dumped = ""
    dump(value, to: &dumped)
    let localized = (value as? any Error)?.localizedDescription ?? ""
    return [localized, String(describing: value), String(reflecting: value), dumped].joined(separator: "\n")
}
