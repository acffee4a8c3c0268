import PowerSyncWire
import Testing

/// Messages about attachments (backend 10.2): what is written reads back, and what is wrong is named.
@Suite struct AttachmentMessageTests {
    private static let digest = String(repeating: "0a", count: 32)
    private static let signed = SignedRequest(
        url: "https://store.test/k?X-Amz-Signature=ab", method: "PUT",
        headers: [
            .init("content-type", "image/jpeg"), .init("if-none-match", "*"),
            .init("x-amz-checksum-sha256", "q83v=="),
        ], expiresAt: "2026-01-01T00:15:00Z")
    private static let signedText = """
        "uploadUrl":"https://store.test/k?X-Amz-Signature=ab","method":"PUT","headers":{\
        "content-type":"image/jpeg","if-none-match":"*","x-amz-checksum-sha256":"q83v=="},\
        "expiresAt":"2026-01-01T00:15:00Z"
        """

    // MARK: Round trips

    @Test func aQuestionForAnUploadIsWrittenAndRead() throws {
        let whole = AttachmentUploadRequest(
            id: "a1", filename: "../Bild \u{0}.jpg", contentType: "image/jpeg", size: 1 << 40,
            sha256: Self.digest, table: "lists", rowID: "r1")
        #expect(
            whole.json.text == """
                {"id":"a1","filename":"../Bild \\u0000.jpg","contentType":"image/jpeg","size":1099511627776,\
                "sha256":"\(Self.digest)","table":"lists","rowId":"r1"}
                """)
        #expect(try AttachmentUploadRequest(json: JSON.parse(whole.json.text)) == whole)
        let short = AttachmentUploadRequest(
            id: String(repeating: "i", count: 255), filename: "", contentType: "a/b", size: 0,
            sha256: Self.digest)
        #expect(try AttachmentUploadRequest(json: JSON.parse(short.json.text)) == short)
        #expect(short.json["table"] == nil && short.json["rowId"] == nil)
    }

    @Test func anAnswerToItIsWrittenAndRead() throws {
        let single = AttachmentUploadTicket(id: "a1", request: Self.signed)
        #expect(single.json.text == "{\"id\":\"a1\",\(Self.signedText),\"alreadyUploaded\":false}")
        let stored = AttachmentUploadTicket(id: "a1", isUploaded: true)
        #expect(stored.json.text == #"{"id":"a1","alreadyUploaded":true}"#)
        let parts = AttachmentUploadTicket(
            id: "a1", multipart: AttachmentMultipart(partSize: 8 << 20, partCount: 3, uploaded: [1, 3]))
        #expect(
            parts.json.text == """
                {"id":"a1","alreadyUploaded":false,\
                "multipart":{"partSize":8388608,"partCount":3,"uploaded":[1,3]}}
                """)
        for ticket in [single, stored, parts] {
            #expect(try AttachmentUploadTicket(json: JSON.parse(ticket.json.text)) == ticket)
        }
        let bare = try AttachmentUploadTicket(
            json: JSON.parse(#"{"id":"a","uploadUrl":"u","method":"PUT","headers":null,"expiresAt":"e"}"#))
        #expect(!bare.isUploaded && bare.multipart == nil)
        #expect(bare.request == SignedRequest(url: "u", method: "PUT", expiresAt: "e"))
    }

    @Test func questionAndAnswerForPartsAreWrittenAndRead() throws {
        let question = AttachmentPartsRequest(
            parts: [2, 3].map { AttachmentPart(number: $0, sha256: Self.digest) })
        #expect(
            question.json.text == """
                {"parts":[{"number":2,"sha256":"\(Self.digest)"},{"number":3,"sha256":"\(Self.digest)"}]}
                """)
        #expect(try AttachmentPartsRequest(json: JSON.parse(question.json.text)) == question)
        let most = AttachmentPartsRequest(
            parts: (1...AttachmentPart.countPerRequest).map {
                AttachmentPart(number: $0, sha256: Self.digest)
            })
        #expect(try AttachmentPartsRequest(json: JSON.parse(most.json.text)) == most)
        let answer = AttachmentPartsTicket(parts: [.init(number: 2, request: Self.signed)])
        #expect(answer.json.text == "{\"parts\":[{\"number\":2,\(Self.signedText)}]}")
        #expect(try AttachmentPartsTicket(json: JSON.parse(answer.json.text)) == answer)
        #expect(AttachmentPart.size == 8_388_608 && AttachmentPart.countPerRequest == 100)
    }

    @Test func anAnswerForADownloadIsWrittenAndRead() throws {
        let ticket = AttachmentDownloadTicket(
            url: "https://store.test/k?sig=1", expiresAt: "2026-01-01T00:05:00Z", size: 3,
            contentType: "text/plain; charset=utf-8", sha256: Self.digest)
        #expect(
            ticket.json.text == """
                {"downloadUrl":"https://store.test/k?sig=1","expiresAt":"2026-01-01T00:05:00Z","size":3,\
                "contentType":"text/plain; charset=utf-8","sha256":"\(Self.digest)"}
                """)
        #expect(try AttachmentDownloadTicket(json: JSON.parse(ticket.json.text)) == ticket)
    }

    @Test func aProblemHasTheCodeOfItsSlug() {
        #expect(AttachmentProblem.code(of: AttachmentProblem.unknown) == "UNKNOWN")
        #expect(AttachmentProblem.code(of: AttachmentProblem.stillReferenced) == "STILL_REFERENCED")
        #expect(AttachmentProblem.code(of: AttachmentProblem.quota) == "QUOTA_EXCEEDED")
    }

    // MARK: What is refused

    private static let question: [(name: String, value: String)] = [
        ("id", "\"a\""), ("filename", "\"f\""), ("contentType", "\"a/b\""), ("size", "1"),
        ("sha256", "\"\(digest)\""),
    ]

    private static func object(
        _ members: [(name: String, value: String)], with name: String, _ value: String?
    )
        -> String
    {
        let others = members.filter { $0.name != name }.map { "\"\($0.name)\":\($0.value)" }
        return "{" + (others + (value.map { ["\"\(name)\":\($0)"] } ?? [])).joined(separator: ",") + "}"
    }

    private static func long(_ count: Int) -> String { "\"" + String(repeating: "x", count: count) + "\"" }

    @Test(
        arguments: [
            ("id", nil), ("id", "7"), ("id", "\"\""), ("id", long(256)), ("id", #""a\u0000b""#),
            ("filename", nil),
            ("filename", long(1_025)), ("contentType", nil), ("contentType", "\"image\""), ("size", nil),
            ("size", "-1"), ("size", "1.5"), ("size", "\"1\""), ("size", "9223372036854775808"),
            ("sha256", nil),
            ("sha256", "\"\(String(digest.dropLast()))\""), ("sha256", "\"\(digest)0\""),
            ("sha256", "\"\(digest.uppercased())\""), ("sha256", "\"\(String(digest.dropLast()))g\""),
            ("table", "7"), ("table", "\"\""), ("rowId", "[]"), ("rowId", long(256)),
        ] as [(String, String?)])
    func aQuestionForAnUploadNamesWhatIsWrong(name: String, value: String?) throws {
        let json = try JSON.parse(Self.object(Self.question, with: name, value))
        let error = #expect(throws: WireError.self) { try AttachmentUploadRequest(json: json) }
        #expect(error?.code == .invalidField)
        #expect(error?.message.hasPrefix(name + ":") == true)
    }

    @Test(arguments: [
        "image/jpeg", "application/vnd.a+b", "A/B", "a/b;c=d", "text/plain; charset=utf-8; x=\"y z\"",
        "x/" + String(repeating: "y", count: 125),
    ])
    func aMediaTypeIsTaken(text: String) { #expect(AttachmentUploadRequest.isMediaType(text)) }

    @Test(arguments: [
        "", "image", "image/", "/jpeg", "a/b/c", "a/b ", " a/b", "a/b;", "a/b;c", "a/b;c=", "a/b;=d",
        "a/b;c=\"d", "a/b;c=\"d\\\"\"", "a/b\r\nx: y", "a/é", "a/b;c=\u{1}", "a/-b", "*/*",
        "x/" + String(repeating: "y", count: 126),
    ])
    func whatIsNoMediaTypeIsNot(text: String) { #expect(!AttachmentUploadRequest.isMediaType(text)) }

    private static func signed(_ name: String, _ value: String?) -> String {
        object(
            [
                ("id", "\"a\""), ("uploadUrl", "\"u\""), ("method", "\"PUT\""), ("headers", "{}"),
                ("expiresAt", "\"e\""),
            ], with: name, value)
    }

    @Test(arguments: [
        ("7", "body"), (signed("id", nil), "id"), (signed("uploadUrl", nil), "uploadUrl"),
        (signed("uploadUrl", "7"), "uploadUrl"), (signed("uploadUrl", long(16_385)), "uploadUrl"),
        (signed("method", nil), "method"), (signed("method", "\"\""), "method"),
        (signed("headers", "[]"), "headers"), (signed("headers", #"{"a":1}"#), "headers"),
        (signed("headers", #"{"a b":"c"}"#), "headers"), (signed("headers", #"{"a:":"c"}"#), "headers"),
        (signed("headers", #"{"":"c"}"#), "headers"), (signed("headers", #"{"a":"b\r\nc: d"}"#), "headers"),
        (signed("headers", #"{"a":"b\u0000"}"#), "headers"), (signed("expiresAt", nil), "expiresAt"),
        (signed("alreadyUploaded", "1"), "alreadyUploaded"), (signed("multipart", "[]"), "multipart"),
        (#"{"id":"a","alreadyUploaded":false}"#, "uploadUrl"),
        (#"{"id":"a","multipart":{"partSize":0,"partCount":1,"uploaded":[]}}"#, "multipart/partSize"),
        (#"{"id":"a","multipart":{"partSize":1,"partCount":0,"uploaded":[]}}"#, "multipart/partCount"),
        (#"{"id":"a","multipart":{"partSize":1,"partCount":10001,"uploaded":[]}}"#, "multipart/partCount"),
        (#"{"id":"a","multipart":{"partSize":1,"partCount":2}}"#, "multipart/uploaded"),
        (#"{"id":"a","multipart":{"partSize":1,"partCount":2,"uploaded":[0]}}"#, "multipart/uploaded/0"),
        (#"{"id":"a","multipart":{"partSize":1,"partCount":2,"uploaded":[1,3]}}"#, "multipart/uploaded/1"),
    ])
    func anAnswerToItNamesWhatIsWrong(text: String, path: String) throws {
        let json = try JSON.parse(text)
        let error = #expect(throws: WireError.self) { try AttachmentUploadTicket(json: json) }
        #expect(error?.message.hasPrefix(path + ":") == true)
    }

    @Test func moreHeaderFieldsThanAnyStoreWantsAreRefused() throws {
        let fields = (0..<33).map { "\"h\($0)\":\"\"" }
        let text = { (count: Int) in
            Self.signed("headers", "{\(fields.prefix(count).joined(separator: ","))}")
        }
        let most = try JSON.parse(text(32))
        #expect(try AttachmentUploadTicket(json: most).request?.headers.count == 32)
        let more = try JSON.parse(text(33))
        #expect(throws: WireError.self) { try AttachmentUploadTicket(json: more) }
    }

    private static func parts(_ count: Int) -> String {
        "{\"parts\":["
            + (1...count).map { "{\"number\":\($0),\"sha256\":\"\(digest)\"}" }.joined(separator: ",") + "]}"
    }

    @Test(arguments: [
        ("{}", "parts"), (#"{"parts":{}}"#, "parts"), (#"{"parts":[]}"#, "parts"), (parts(101), "parts"),
        (#"{"parts":[7]}"#, "parts/0"), ("{\"parts\":[{\"sha256\":\"\(digest)\"}]}", "parts/0/number"),
        ("{\"parts\":[{\"number\":0,\"sha256\":\"\(digest)\"}]}", "parts/0/number"),
        ("{\"parts\":[{\"number\":10001,\"sha256\":\"\(digest)\"}]}", "parts/0/number"),
        (#"{"parts":[{"number":1,"sha256":"0a"}]}"#, "parts/0/sha256"),
        (
            "{\"parts\":[{\"number\":1,\"sha256\":\"\(digest)\"},{\"number\":1,\"sha256\":\"\(digest)\"}]}",
            "parts"
        ),
    ])
    func aQuestionForPartsNamesWhatIsWrong(text: String, path: String) throws {
        let json = try JSON.parse(text)
        let error = #expect(throws: WireError.self) { try AttachmentPartsRequest(json: json) }
        #expect(error?.message.hasPrefix(path + ":") == true)
    }

    @Test(arguments: [
        ("{}", "parts"), (#"{"parts":[{}]}"#, "parts/0/number"),
        (#"{"parts":[{"number":1}]}"#, "parts/0/uploadUrl"),
        (
            #"{"parts":[{"number":1,"uploadUrl":"u","method":"PUT","headers":7,"expiresAt":"e"}]}"#,
            "parts/0/headers"
        ),
    ])
    func anAnswerForPartsNamesWhatIsWrong(text: String, path: String) throws {
        let json = try JSON.parse(text)
        let error = #expect(throws: WireError.self) { try AttachmentPartsTicket(json: json) }
        #expect(error?.message.hasPrefix(path + ":") == true)
    }

    @Test(
        arguments: [
            ("downloadUrl", nil), ("downloadUrl", "\"\""), ("expiresAt", "7"), ("size", "-1"),
            ("contentType", "\"x\""), ("sha256", "\"\""),
        ] as [(String, String?)])
    func anAnswerForADownloadNamesWhatIsWrong(name: String, value: String?) throws {
        let members: [(name: String, value: String)] = [
            ("downloadUrl", "\"u\""), ("expiresAt", "\"e\""), ("size", "1"), ("contentType", "\"a/b\""),
            ("sha256", "\"\(Self.digest)\""),
        ]
        let json = try JSON.parse(Self.object(members, with: name, value))
        let error = #expect(throws: WireError.self) { try AttachmentDownloadTicket(json: json) }
        #expect(error?.message.hasPrefix(name + ":") == true)
    }
}
