/// Settings that a session starts with, for the connection parameter `options`.
package enum PostgresSession {
    /// The settings under which values have one text form and names one meaning (backend 2.4).
    package static let pinned: [(name: String, value: String)] = [
        ("TimeZone", "UTC"), ("DateStyle", "ISO,MDY"), ("IntervalStyle", "iso_8601"),
        ("extra_float_digits", "1"),
        ("standard_conforming_strings", "on"), ("search_path", ""),
    ]

    /// The text for `options`: `-c name=value` each, with spaces and backslashes escaped as libpq wants it.
    package static func options(_ settings: [(name: String, value: String)] = pinned) -> String {
        settings.map { setting in
            let value = setting.value.map { $0 == " " || $0 == "\\" ? "\\\($0)" : "\($0)" }.joined()
            return "-c \(setting.name)=\(value)"
        }.joined(separator: " ")
    }
}
