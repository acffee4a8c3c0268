import CPowerSyncExpat

extension XMLElement {
    /// Reads a document of XML 1.0 in UTF-8, whatever encoding it says it has.
    ///
    /// A document that declares its type is refused before anything of the declaration is looked at: so there are no entities
    /// but the five of XML and those by number, and nothing outside of the document is read.
    ///
    /// - Parameters:
    ///   - bytes: The document, at most 16 MiB.
    ///   - depth: How deep its elements may be nested.
    ///   - count: How many elements it may have.
    /// - Returns: The root.
    /// - Throws: `XMLError` with the line.
    package static func parse(
        _ bytes: [UInt8], depth: Int = 32, count: Int = 100_000
    ) throws(XMLError) -> XMLElement {
        guard bytes.count <= 16 << 20 else {
            throw XMLError(.tooLarge, "the document is larger than 16 MiB", line: 1)
        }
        // expat would take what looks like UTF-16 for that.
        guard !bytes.contains(0), String(validating: bytes, as: UTF8.self) != nil else {
            throw XMLError(.malformed, "the document is not in UTF-8", line: 1)
        }
        guard let parser = XML_ParserCreateNS("UTF-8", CChar(ElementBuilder.separator)) else {
            preconditionFailure("no memory for an XML parser")
        }
        defer { XML_ParserFree(parser) }
        let builder = ElementBuilder(parser, depth: depth, count: count)
        builder.listen()
        let status = bytes.withUnsafeBytes { bytes in
            XML_Parse(parser, bytes.bindMemory(to: CChar.self).baseAddress, Int32(bytes.count), 1)
        }
        if let failure = builder.failure { throw failure }
        guard status == XML_STATUS_OK, let root = builder.root else {
            let reason = XML_ErrorString(XML_GetErrorCode(parser)).map { String(cString: $0) }
            throw XMLError(.malformed, reason ?? "not XML", line: builder.line)
        }
        return root
    }
}

/// Builds elements of expat's events; lives as long as one document is read.
private final class ElementBuilder {
    /// What stands between namespace and name; no document can have it.
    static let separator: UInt8 = 1

    private struct OpenElement {
        var name: String
        var text: [UInt8] = []
        var children: [XMLElement] = []
    }

    private let parser: XML_Parser
    private let depth: Int
    private var countLeft: Int
    private var open: [OpenElement] = []
    /// The first refusal of ours; expat may tell a little more before it stops.
    private(set) var failure: XMLError?
    private(set) var root: XMLElement?

    init(_ parser: XML_Parser, depth: Int, count: Int) {
        self.parser = parser
        self.depth = depth
        countLeft = count
    }

    /// The line that is being read.
    var line: Int { Int(XML_GetCurrentLineNumber(parser)) }

    /// Has expat tell this object, which must live until the document has been read.
    func listen() {
        XML_SetUserData(parser, Unmanaged.passUnretained(self).toOpaque())
        XML_SetElementHandler(
            parser, { context, name, _ in ElementBuilder.from(context)?.begin(name) },
            { context, _ in ElementBuilder.from(context)?.end() })
        XML_SetCharacterDataHandler(parser) { context, bytes, count in
            ElementBuilder.from(context)?.add(UnsafeRawBufferPointer(start: bytes, count: Int(count)))
        }
        XML_SetStartDoctypeDeclHandler(parser) { context, _, _, _, _ in
            ElementBuilder.from(context)?.refuse(.declaration, "a document type is declared")
        }
    }

    private static func from(_ context: UnsafeMutableRawPointer?) -> ElementBuilder? {
        context.map { Unmanaged<ElementBuilder>.fromOpaque($0).takeUnretainedValue() }
    }

    private func begin(_ name: UnsafePointer<XML_Char>?) {
        guard failure == nil, let name else { return }
        guard open.count < depth else {
            return refuse(.tooLarge, "elements are nested more than \(depth) deep")
        }
        guard countLeft > 0 else { return refuse(.tooLarge, "the document has too many elements") }
        countLeft -= 1
        let full = String(cString: name).utf8
        let local = full.lastIndex(of: Self.separator).map { full[full.index(after: $0)...] } ?? full[...]
        open.append(OpenElement(name: String(Substring(local))))
    }

    private func end() {
        guard failure == nil, let ended = open.popLast() else { return }
        let text = String(decoding: ended.text, as: UTF8.self)
        let element = XMLElement(name: ended.name, text: text, children: ended.children)
        if open.isEmpty {
            root = element
        } else {
            open[open.count - 1].children.append(element)
        }
    }

    private func add(_ bytes: UnsafeRawBufferPointer) {
        guard failure == nil, !open.isEmpty else { return }
        open[open.count - 1].text.append(contentsOf: bytes)
    }

    private func refuse(_ code: XMLError.Code, _ message: String) {
        guard failure == nil else { return }
        failure = XMLError(code, message, line: line)
        // Not to be resumed.
        XML_StopParser(parser, 0)
    }
}
