import PowerSyncTestSupport
import PowerSyncWire
import Testing

@testable import PowerSyncBackend

struct S3SignatureTests {
    private struct NoFixture: Error, CustomStringConvertible {
        let description =
            "Tests/Fixtures/attachments/signatures.jsonl is missing: README.md beside it says how it is made"
    }

    /// The example of "Authenticating Requests: Using Query Parameters" in the API reference of Amazon S3.
    @Test func theExampleOfTheReferenceIsMet() {
        let url = S3Signature.presign(
            S3Signature.Request(
                method: "GET", scheme: "https", host: "examplebucket.s3.amazonaws.com", path: "/test.txt"),
            at: 1_369_353_600, lifetime: 86_400, region: "us-east-1",
            credentials: S3Configuration.Credentials(
                accessKey: "AKIAIOSFODNN7EXAMPLE", secretKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"))
        #expect(
            url == "https://examplebucket.s3.amazonaws.com/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256"
                + "&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request"
                + "&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host"
                + "&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404")
    }

    /// A thousand requests by chance, at fixed times.
    @Test func everyURLIsThatOfBotocore() throws {
        guard let text = try? Repository.text("Tests/Fixtures/attachments/signatures.jsonl") else {
            throw NoFixture()
        }
        let lines = text.split(separator: "\n").map(String.init)
        let count = try #require(try JSON.parse(lines[0])["count"]?.int64Value)
        #expect(count == 1_000 && lines.count == 1_001)
        for line in lines.dropFirst() {
            let json = try JSON.parse(line)
            let url = try #require(json["url"]?.stringValue)
            #expect(try presigned(json) == url, "\(line)")
        }
    }

    private func presigned(_ json: JSON) throws -> String {
        func text(_ name: String) throws -> String { try #require(json[name]?.stringValue) }
        func number(_ name: String) throws -> Int64 { try #require(json[name]?.int64Value) }
        func pairs(_ name: String) throws -> [(name: String, value: String)] {
            try #require(json[name]?.arrayValue).map { pair in
                let texts = try #require(pair.arrayValue).compactMap(\.stringValue)
                try #require(texts.count == 2)
                return (name: texts[0], value: texts[1])
            }
        }
        let configuration = S3Configuration(
            bucket: try text("bucket"),
            endpoint: S3Configuration.Endpoint(
                scheme: try text("scheme"), host: try text("host"),
                port: json["port"]?.int64Value.map { Int($0) }),
            region: try text("region"),
            style: try #require(S3Configuration.Style(rawValue: try text("style"))),
            credentials: S3Configuration.Credentials(
                accessKey: try text("accessKey"), secretKey: try text("secretKey"),
                sessionToken: json["sessionToken"]?.stringValue))
        return configuration.presigned(
            method: try text("method"), key: try text("key"), query: try pairs("query"),
            fields: try pairs("fields"), at: try number("time"), lifetime: try number("lifetime"))
    }

    @Test func aSlashWithAnAccentBehindItStaysASlash() {
        let request = S3Signature.Request(
            method: "GET", scheme: "https", host: "h", path: "/b/\u{301}a")
        #expect(request.encodedPath == "/b/%CC%81a")
    }

    @Test func thePortOfTheSchemeIsNotInTheHostField() {
        for (scheme, port, field) in [
            ("https", nil, "h"), ("https", 443, "h"), ("https", 80, "h:80"), ("http", 80, "h"),
            ("http", 443, "h:443"),
        ] as [(String, Int?, String)] {
            let request = S3Signature.Request(method: "GET", scheme: scheme, host: "H", port: port, path: "/")
            #expect(request.hostField == field, "\(scheme) \(port ?? 0)")
        }
    }
}
