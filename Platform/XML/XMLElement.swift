/// One element of an XML document, without attributes: answers of object stores have none that matter.
package struct XMLElement: Sendable, Equatable {
    /// The name, without prefix and namespace.
    package let name: String
    /// The text that stands in the element itself, without that of its children; blanks count.
    package let text: String
    /// The elements in it, in order.
    package let children: [XMLElement]

    /// Makes an element of its parts.
    package init(name: String, text: String = "", children: [XMLElement] = []) {
        self.name = name
        self.text = text
        self.children = children
    }

    /// Returns the first child of a name; nil if there is none.
    package func first(_ name: String) -> XMLElement? { children.first { $0.name == name } }

    /// Returns the children of a name, in order.
    package func all(_ name: String) -> [XMLElement] { children.filter { $0.name == name } }
}

/// Text as it stands in XML.
package enum XMLText {
    /// Returns a text as the content of an element or the value of an attribute.
    ///
    /// A carriage return is written as a number, because readers take it for a line feed; in attributes they take line feeds
    /// and tabs for blanks. What no document may have, such as NUL, becomes U+FFFD.
    package static func escape(_ text: String) -> String {
        var escaped = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": escaped.append(contentsOf: "&amp;".unicodeScalars)
            case "<": escaped.append(contentsOf: "&lt;".unicodeScalars)
            case ">": escaped.append(contentsOf: "&gt;".unicodeScalars)
            case "\"": escaped.append(contentsOf: "&quot;".unicodeScalars)
            case "'": escaped.append(contentsOf: "&apos;".unicodeScalars)
            case "\r": escaped.append(contentsOf: "&#13;".unicodeScalars)
            case "\t", "\n": escaped.append(scalar)
            case "\u{0}"..."\u{1F}", "\u{FFFE}", "\u{FFFF}": escaped.append("\u{FFFD}")
            default: escaped.append(scalar)
            }
        }
        return String(escaped)
    }
}
