import PowerSyncSyncRules

/// How values of Postgres become SQLite values (service 6.2, 6.13).
package struct ConversionOptions: Sendable, Hashable {
    /// Digits of a second's fraction; nil is a fraction as the source has it, padded to six.
    package var fractionDigits: Int?

    /// Makes options.
    package init(fractionDigits: Int? = nil) { self.fractionDigits = fractionDigits }

    /// Takes what a configuration says of conversions.
    package init(_ options: CompatibilityOptions) { self.init(fractionDigits: options.fractionDigits) }
}
