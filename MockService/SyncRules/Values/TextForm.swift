import PowerSyncWire

extension ScalarValue {
    /// The value as text, as `||` joins it (service 6.12); nil for NULL.
    ///
    /// Doubles are spelled as JavaScript does (`1`, `1e+21`); what is no UTF-8 in a blob becomes U+FFFD.
    package var textForm: String? {
        switch self {
        case .null: nil
        case .integer(let integer): String(integer)
        case .wide(let integer): integer.digits.text
        case .real(let real): NumberText.javaScript(real)
        case .text(let text): text.text
        case .blob(let bytes): String(decoding: bytes, as: UTF8.self)
        }
    }

    /// The bytes of a blob, or of the text form; nil for NULL.
    var byteForm: [UInt8]? {
        if case .blob(let bytes) = self { return bytes }
        return textForm.map { Array($0.utf8) }
    }
}
