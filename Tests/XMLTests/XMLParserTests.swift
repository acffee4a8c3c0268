import PowerSyncXML
import Testing

struct XMLParserTests {
    private func parse(_ text: String) throws(XMLError) -> XMLElement {
        try XMLElement.parse(Array(text.utf8))
    }

    private func code(_ text: String) -> XMLError.Code? { code(Array(text.utf8)) }

    /// The kind of refusal; nil if the bytes are taken.
    private func code(_ bytes: [UInt8]) -> XMLError.Code? {
        do throws(XMLError) {
            _ = try XMLElement.parse(bytes)
            return nil
        } catch {
            return error.code
        }
    }

    // MARK: Answers of object stores

    /// As the API reference of Amazon S3 shows it.
    private static let listParts = """
        <?xml version="1.0" encoding="UTF-8"?>
        <ListPartsResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">
            <Bucket>example-bucket</Bucket>
            <Key>example/a b &amp; c</Key>
            <UploadId>XXBsb2FkIElEIGZvciBlbHZpbmc</UploadId>
            <Owner><ID>75aa57f0</ID><DisplayName>someName</DisplayName></Owner>
            <PartNumberMarker>1</PartNumberMarker>
            <IsTruncated>true</IsTruncated>
            <Part>
                <PartNumber>2</PartNumber>
                <ETag>&quot;7778aef83f66abc1fa1e8477f296d394&quot;</ETag>
                <Size>8388608</Size>
                <ChecksumSHA256>47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=</ChecksumSHA256>
            </Part>
            <Part>
                <PartNumber>3</PartNumber>
                <ETag>"aaaa18db4cc2f85cedef654fccc4a4x8"</ETag>
                <Size>10</Size>
            </Part>
        </ListPartsResult>
        """

    @Test func aListOfPartsIsRead() throws {
        let root = try parse(Self.listParts)
        #expect(root.name == "ListPartsResult")
        #expect(root.first("Key")?.text == "example/a b & c")
        #expect(root.first("IsTruncated")?.text == "true")
        #expect(root.first("Owner")?.first("ID")?.text == "75aa57f0")
        #expect(root.first("ID") == nil, "children alone are looked at")
        let parts = root.all("Part")
        #expect(parts.map { $0.first("PartNumber")?.text } == ["2", "3"])
        #expect(
            parts.map { $0.first("ETag")?.text } == [
                #""7778aef83f66abc1fa1e8477f296d394""#, #""aaaa18db4cc2f85cedef654fccc4a4x8""#,
            ])
        #expect(parts[0].first("ChecksumSHA256")?.text == "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=")
        #expect(parts[1].first("ChecksumSHA256") == nil)
        #expect(root.all("Nothing").isEmpty)
    }

    @Test func theBeginningOfAnUploadIsRead() throws {
        let root = try parse(
            """
            <InitiateMultipartUploadResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">\
            <Bucket>b</Bucket><Key>k</Key><UploadId>VXBsb2FkIElE.-_~</UploadId>\
            </InitiateMultipartUploadResult>
            """)
        #expect(root.name == "InitiateMultipartUploadResult" && root.text == "")
        #expect(root.first("UploadId")?.text == "VXBsb2FkIElE.-_~")
    }

    @Test func anErrorIsRead() throws {
        let root = try parse(
            """
            <?xml version='1.0' encoding='utf-8'?>
            <Error><Code>SignatureDoesNotMatch</Code><Message>The signature we calculated does not match.</Message>\
            <StringToSign>AWS4-HMAC-SHA256&#10;20260101T000000Z</StringToSign><Resource/></Error>
            """)
        #expect(root.first("Code")?.text == "SignatureDoesNotMatch")
        #expect(root.first("StringToSign")?.text == "AWS4-HMAC-SHA256\n20260101T000000Z")
        #expect(root.first("Resource") == XMLElement(name: "Resource"))
    }

    // MARK: Text

    @Test(arguments: [
        ("&amp;&lt;&gt;&quot;&apos;", "&<>\"'"), ("&#65;&#x42;&#x1F600;", "AB😀"), ("é €", "é €"),
        ("<![CDATA[<b>&amp;</b>]]>", "<b>&amp;</b>"), ("a<![CDATA[b]]>c<!-- d -->e<?f g?>h", "abceh"),
        (" a\r\nb\rc ", " a\nb\nc "), ("&#13;", "\r"), ("", ""),
    ])
    func textIsWhatItStandsFor(xml: String, text: String) throws {
        #expect(try parse("<a>\(xml)</a>") == XMLElement(name: "a", text: text))
    }

    @Test func textBesideChildrenIsTheElementsOwn() throws {
        let root = try parse("<a>1<b>2</b>3<c/>4</a>")
        #expect(root.text == "134")
        #expect(root.children == [XMLElement(name: "b", text: "2"), XMLElement(name: "c")])
    }

    @Test func namesStandWithoutTheirNamespace() throws {
        let root = try parse(
            """
            <s:a xmlns:s="http://example.com/one" xmlns="http://example.com/two" x="1" s:x="2"><s:b/><c/>\
            <d xmlns=""/></s:a>
            """)
        #expect(root == XMLElement(name: "a", children: ["b", "c", "d"].map { XMLElement(name: $0) }))
        #expect(code("<s:a/>") == .malformed, "no namespace has that prefix")
        #expect(code("<a xmlns=''><a:b xmlns:a='x'/></a>") == nil)
    }

    @Test func whatIsEscapedIsReadAsItWas() throws {
        let text = "a & b <c> \"d\" 'e'\r\n\tf ]]> é 😀"
        #expect(XMLText.escape("<&>\"'\r\n") == "&lt;&amp;&gt;&quot;&apos;&#13;\n")
        #expect(try parse("<a>\(XMLText.escape(text))</a>").text == text)
        #expect(code("<a x=\"\(XMLText.escape(text))\" y='\(XMLText.escape(text))'/>") == nil)
        #expect(XMLText.escape("a\u{0}b\u{1F}c\u{FFFF}") == "a\u{FFFD}b\u{FFFD}c\u{FFFD}")
    }

    // MARK: What is refused

    @Test(arguments: [
        "<!DOCTYPE a><a/>", "<!DOCTYPE a SYSTEM 'file:///etc/passwd'><a/>",
        "<!DOCTYPE a PUBLIC 'x' 'http://127.0.0.1/a.dtd'><a/>", "<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>",
        "<!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/passwd'>]><a>&b;</a>",
        "<!DOCTYPE a [<!ENTITY % b SYSTEM 'file:///etc/passwd'> %b;]><a/>",
        "<?xml version='1.0'?><!-- --><!DOCTYPE a [<!ATTLIST a b CDATA 'c'>]><a/>",
    ])
    func aDeclarationIsRefused(text: String) {
        #expect(code(text) == .declaration)
    }

    @Test func aBillionLaughsAreRefused() {
        var text = "<!DOCTYPE l [<!ENTITY l0 'lol'>"
        for level in 1...30 {
            let before = String(repeating: "&l\(level - 1);", count: 10)
            text += "<!ENTITY l\(level) '\(before)'>"
        }
        #expect(code(text + "]><l>&l30;</l>") == .declaration)
    }

    @Test(arguments: [
        "", " ", "text", "<a>", "</a>", "<a></b>", "<a/><b/>", "<a/>text", "<a b/>", "<a b='1' b='2'/>",
        "<a>&b;</a>", "<a>&nbsp;</a>", "<a>&#0;</a>", "<a>&#xD800;</a>", "<a>&#x110000;</a>", "<a>&</a>",
        "<a><![CDATA[</a>", "<a>]]></a>", "<a><!-- -- --></a>", "<a>\u{1}</a>", "<a>\u{0}</a>", "<1/>",
        "<?xml version='1.0'?", " <?xml version='1.0'?><a/>", "<a><</a>",
    ])
    func whatIsNoXMLIsRefused(text: String) {
        #expect(code(text) == .malformed)
    }

    @Test func aDocumentThatIsCutIsRefusedWhereverThatIs() throws {
        let bytes = Array(Self.listParts.utf8)
        _ = try XMLElement.parse(bytes)
        for count in bytes.indices { #expect(code(Array(bytes[..<count])) == .malformed, "\(count) bytes") }
    }

    @Test(
        arguments: [
            [0xFF], [0xC0, 0x80], [0xE9], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xE2, 0x82], [0x80],
        ] as [[UInt8]])
    func otherBytesThanUTF8AreRefused(bytes: [UInt8]) {
        #expect(code(Array("<a>".utf8) + bytes + Array("</a>".utf8)) == .malformed)
        let declared = "<?xml version='1.0' encoding='ISO-8859-1'?><a>"
        #expect(code(Array(declared.utf8) + bytes + Array("</a>".utf8)) == .malformed)
    }

    @Test func anotherEncodingThanUTF8IsRefused() {
        let big = "<a>b</a>".utf16.flatMap { [UInt8($0 >> 8), UInt8($0 & 255)] }
        #expect(code(big) == .malformed)
        #expect(code([0xFE, 0xFF] + big) == .malformed)
        #expect(code("\u{FEFF}<a>b</a>") == nil, "the mark of UTF-8 may stand before it")
    }

    // MARK: Limits

    @Test func theDepthIsBounded() throws {
        func nested(_ depth: Int) -> String {
            String(repeating: "<a>", count: depth) + String(repeating: "</a>", count: depth)
        }
        #expect(code(nested(32)) == nil)
        #expect(code(nested(33)) == .tooLarge)
        #expect(code(nested(1_000_000)) == .tooLarge)
        #expect(code(String(repeating: "<a>", count: 100_000)) == .tooLarge, "it need not end for that")
        let error = #expect(throws: XMLError.self) {
            try XMLElement.parse(Array("<a>\n<b>\n<c/></b></a>".utf8), depth: 2)
        }
        #expect(error?.line == 3 && error?.description.hasPrefix("line 3: ") == true)
    }

    @Test func theNumberOfElementsIsBounded() throws {
        func many(_ count: Int) -> String { "<a>\(String(repeating: "<b/>", count: count - 1))</a>" }
        #expect(try parse(many(100_000)).children.count == 99_999)
        #expect(code(many(100_001)) == .tooLarge)
        #expect(throws: XMLError.self) { try XMLElement.parse(Array("<a><b/><c/></a>".utf8), count: 2) }
    }

    @Test func theSizeIsBounded() throws {
        let rest = "<a></a>".utf8.count
        func large(_ count: Int) -> [UInt8] {
            Array("<a>".utf8) + [UInt8](repeating: 120, count: count - rest) + Array("</a>".utf8)
        }
        #expect(code(large(16 << 20)) == nil)
        #expect(code(large(16 << 20 + 1)) == .tooLarge)
    }

    @Test func aMistakeHasItsLineAndShowsNothingOfTheDocument() {
        let error = #expect(throws: XMLError.self) { try parse("<a>\n<secret>\n</b></a>") }
        #expect(error?.code == .malformed && error?.line == 3)
        #expect(error.map { "\($0)".contains("secret") } == false)
    }
}
