import PowerSyncHTTPClient
import Testing

@testable import PowerSyncBackend

struct S3AnswerTests {
    private static func error(_ code: String) -> String {
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>\(code)</Code><Message>m</Message></Error>"
    }

    private func answer(_ status: Int, _ body: String = "") -> S3Answer {
        S3Answer(status: status, body: Array(body.utf8))
    }

    private static let kinds: [(Int, String, ObjectStoreError.Kind)] = [
        (500, "", .unavailable), (502, "<html>bad gateway</html>", .unavailable),
        (503, error("SlowDown"), .unavailable),
        (503, error("ServiceUnavailable"), .unavailable), (504, "", .unavailable), (429, "", .unavailable),
        (429, error("TooManyRequests"), .unavailable), (408, "", .unavailable),
        (400, error("RequestTimeout"), .unavailable), (409, error("OperationAborted"), .unavailable),
        (409, error("ConditionalRequestConflict"), .unavailable), (200, error("InternalError"), .unavailable),
        (200, error("SlowDown"), .unavailable), (200, "", .unavailable), (200, "<no end", .unavailable),
        (412, error("PreconditionFailed"), .conflict), (412, "", .conflict),
        (200, error("PreconditionFailed"), .conflict), (404, error("NoSuchUpload"), .conflict),
        (200, error("NoSuchUpload"), .conflict),
        (403, "", .refused), (403, error("AccessDenied"), .refused),
        (403, error("SignatureDoesNotMatch"), .refused), (403, error("RequestTimeTooSkewed"), .refused),
        (404, error("NoSuchBucket"), .refused), (404, "", .unavailable),
        (404, "<html>no route</html>", .unavailable),
        (301, error("PermanentRedirect"), .refused), (307, "", .refused),
        (400, error("InvalidPart"), .refused),
        (400, error("MalformedXML"), .refused), (401, "", .refused), (411, "", .refused),
        (501, error("NotImplemented"), .refused), (200, error("InvalidPart"), .refused),
    ]

    @Test(arguments: kinds)
    func anAnswerThatIsNoSuccessHasAKind(status: Int, body: String, kind: ObjectStoreError.Kind) {
        let error = answer(status, body).failure("do it")
        #expect(error.kind == kind, "\(error)")
        #expect(error.message.hasPrefix("the object store does not do it (\(status)"), "\(error)")
    }

    @Test func anOperatorIsToldWhatToChange() {
        for (status, code, word) in [
            (403, "RequestTimeTooSkewed", "clocks"), (404, "NoSuchBucket", "make the bucket"),
            (403, "SignatureDoesNotMatch", "secret key"), (403, "InvalidAccessKeyId", "access key"),
            (400, "ExpiredToken", "session token"), (403, "AccessDenied", "s3:ListBucket"),
            (301, "PermanentRedirect", "region or endpoint"), (501, "NotImplemented", "If-None-Match"),
        ] {
            let message = answer(status, Self.error(code)).failure("do it").message
            #expect(message.contains("(\(status) \(code))") && message.contains(word), "\(message)")
        }
    }

    @Test func nothingOfAnAnswerButAWordIsShown() {
        for code in ["AKIA secret", "<b>x</b>", "a=b", "", String(repeating: "A", count: 65), "ä"] {
            let text = code.replacing("<", with: "&lt;")
            let message = answer(403, Self.error(text)).failure("do it").message
            #expect(message.hasPrefix("the object store does not do it (403):"), "\(message)")
        }
        #expect(answer(403, "<html><Code>AccessDenied</Code></html>").code == nil)
    }

    /// S3 answers with 200 before it has completed an upload, sends blanks meanwhile, and an error then.
    @Test func aStatusOfSuccessIsNoneWithAnErrorInTheBody() {
        let failed = answer(200, "\n  \n" + Self.error("InternalError"))
        #expect(!failed.isSuccess && !failed.isComplete && failed.code == "InternalError")
        let result = """


              <?xml version="1.0" encoding="UTF-8"?>

            <CompleteMultipartUploadResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">
            <Key>k</Key><ETag>"abc-2"</ETag></CompleteMultipartUploadResult>
            """
        #expect(answer(200, result).isComplete)
        for other in ["", "   ", "<ListPartsResult/>", "<CompleteMultipartUploadResult>"] {
            #expect(!answer(200, other).isComplete, "\(other)")
        }
        #expect(!answer(500, result).isComplete)
        #expect(answer(204).isSuccess && answer(200).isSuccess)
    }

    @Test func theNameOfAnUploadIsRead() {
        let text = """
            <InitiateMultipartUploadResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Bucket>b</Bucket>
            <Key>k</Key><UploadId>VXBs&amp;b2Fk.x_-</UploadId></InitiateMultipartUploadResult>
            """
        #expect(answer(200, text).uploadID == "VXBs&b2Fk.x_-")
        #expect(answer(400, text).uploadID == nil)
        #expect(answer(200, text.replacing("VXBs&amp;b2Fk.x_-", with: "")).uploadID == nil)
        #expect(answer(200, "<Other><UploadId>a</UploadId></Other>").uploadID == nil)
        #expect(answer(200).uploadID == nil)
    }

    private static let list = """
        <ListPartsResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><PartNumberMarker>0</PartNumberMarker>
        <NextPartNumberMarker>2</NextPartNumberMarker><IsTruncated>true</IsTruncated>
        <Part><PartNumber>1</PartNumber><ETag>&quot;aa&quot;</ETag><Size>8388608</Size>
        <ChecksumSHA256>AAA=</ChecksumSHA256></Part>
        <Part><PartNumber>2</PartNumber><ETag>"bb"</ETag><Size>5</Size></Part></ListPartsResult>
        """

    @Test func aPageOfPartsIsRead() throws {
        let (page, next) = try #require(answer(200, Self.list).parts)
        #expect(
            page == [
                StoredPart(number: 1, size: 8_388_608, tag: "\"aa\"", sha256: "AAA="),
                StoredPart(number: 2, size: 5, tag: "\"bb\""),
            ])
        #expect(next == 2)
        let last = try #require(answer(200, Self.list.replacing("true", with: "false")).parts)
        #expect(last.page.count == 2 && last.next == nil)
        let empty = try #require(answer(200, "<ListPartsResult/>").parts)
        #expect(empty.page.isEmpty && empty.next == nil)
    }

    @Test(arguments: [
        "<Size>5</Size>", "<PartNumber>2</PartNumber>", "<ETag>\"bb\"</ETag>",
        "<NextPartNumberMarker>2</NextPartNumberMarker>",
    ])
    func aPageThatLacksSomethingIsNone(_ text: String) {
        #expect(answer(200, Self.list.replacing(text, with: "")).parts == nil)
    }

    @Test func onlyWhatIsThereNotIsMissing() {
        #expect(answer(404, Self.error("NoSuchKey")).isMissing)
        #expect(answer(404, Self.error("NoSuchUpload")).isMissing)
        for other in [
            answer(404), answer(404, "<html/>"), answer(404, Self.error("NoSuchBucket")), answer(403),
            answer(200),
            answer(200, Self.error("NoSuchKey")),
        ] {
            #expect(!other.isMissing, "\(other)")
        }
    }

    @Test func withoutAnAnswerItIsTriedAgainUnlessThatIsOfNoUse() {
        let passing: [HTTPClientError.Code] = [
            .couldNotConnect, .couldNotResolve, .timedOut, .silent, .cut, .closed, .other,
        ]
        for code in passing {
            let error = S3Answer.failure(HTTPClientError(code, "canary"), "do it")
            #expect(error.kind == .unavailable && !error.message.contains("canary"), "\(error)")
        }
        let lasting: [HTTPClientError.Code] = [
            .tls, .untrustedAuthority, .proxyRefused, .badURL, .badConfiguration,
        ]
        for code in lasting {
            #expect(S3Answer.failure(HTTPClientError(code, "m"), "do it").kind == .refused)
        }
    }
}
