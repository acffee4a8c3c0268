import Testing

@testable import PowerSync

/// What answers about attachments mean: every status, and every problem (Backend/Attachments/SPEC.md).
@Suite struct AttachmentAnswersTests {
    private typealias Code = AttachmentStorageError.Code

    private static let problems: [String?] = [
        nil, "UNKNOWN", "NOT_UPLOADED", "STILL_REFERENCED", "CONFLICT", "NOT_STORED", "GONE", "TOO_LARGE",
        "QUOTA_EXCEEDED", "NO_SUCH_ROUTE",
    ]

    /// Of a backend: what is not listed is refused.
    private static let kinds: [(status: Int, problem: String, kind: Code)] = [
        (404, "UNKNOWN", .unknown), (404, "NOT_UPLOADED", .notUploaded),
        (409, "STILL_REFERENCED", .stillReferenced), (409, "CONFLICT", .conflict),
        (409, "NOT_STORED", .storage), (429, "QUOTA_EXCEEDED", .quotaExceeded),
    ]

    @Test(arguments: AttachmentAnswers.Question.allCases)
    func everyAnswerOfABackendHasAMeaning(question: AttachmentAnswers.Question) {
        for status in 100..<600 {
            for problem in Self.problems {
                let expected: AttachmentAnswers.BackendMeaning
                let kind = Self.kinds.first { $0.status == status && $0.problem == problem }?.kind
                switch status {
                case 200...299: expected = .done
                case 401: expected = .unauthorized
                case 410 where question == .delete: expected = .done
                case 410: expected = .failure(.gone)
                case 413: expected = .failure(.tooLarge)
                default:
                    let isBusy = status == 408 || status == 429 || status >= 500
                    expected = .failure(kind ?? (isBusy ? .storage : .refused))
                }
                #expect(
                    AttachmentAnswers.meaning(of: status, problem, to: question) == expected,
                    "\(status) \(problem ?? "-")")
            }
        }
    }

    @Test func everyAnswerToSeveralQuestionsHasAMeaning() {
        for status in 100..<600 {
            for problem in Self.problems {
                let expected: AttachmentAnswers.BatchMeaning
                switch status {
                case 200...299: expected = .done
                case 413: expected = .tooMany
                case 429 where problem == "QUOTA_EXCEEDED": expected = .tooMany
                case 501: expected = .unknown
                default:
                    let isOfAll = [401, 408, 429].contains(status) || status >= 500
                    expected = isOfAll ? .failure : .unknown
                }
                #expect(
                    AttachmentAnswers.batchMeaning(of: status, problem) == expected,
                    "\(status) \(problem ?? "-")")
            }
        }
    }

    private typealias Row = (
        status: Int, upload: AttachmentAnswers.StorageMeaning, download: AttachmentAnswers.StorageMeaning
    )

    /// Of a storage: what is not listed is refused.
    private static let rows: [Row] = [
        (200, .done, .done), (201, .done, .failure(.storage)), (204, .done, .failure(.storage)),
        (206, .done, .done), (400, .failure(.damaged), .failure(.refused)), (403, .refusedURL, .refusedURL),
        (404, .failure(.storage), .failure(.storage)), (408, .failure(.storage), .failure(.storage)),
        (409, .failure(.storage), .failure(.storage)), (410, .failure(.storage), .failure(.storage)),
        (412, .stored, .failure(.refused)), (413, .failure(.tooLarge), .failure(.tooLarge)),
        (416, .failure(.refused), .badRange), (429, .failure(.storage), .failure(.storage)),
        (500, .failure(.storage), .failure(.storage)), (503, .failure(.storage), .failure(.storage)),
        (507, .failure(.storage), .failure(.storage)),
    ]

    @Test func everyAnswerOfAStorageHasAMeaning() {
        for status in 100..<600 {
            let nearest = (200..<300).contains(status) && status != 200 && status != 206 ? 204 : status
            let row = Self.rows.first { $0.status == (status >= 500 ? 500 : nearest) }
            for transfer in AttachmentAnswers.Transfer.allCases {
                let expected = transfer == .download ? row?.download : row?.upload
                #expect(
                    AttachmentAnswers.meaning(of: status, to: transfer) == expected ?? .failure(.refused),
                    "\(status) \(transfer)")
            }
        }
    }

    @Test func theRowsAreTheMeaningsThatAreListed() {
        for row in Self.rows {
            #expect(AttachmentAnswers.meaning(of: row.status, to: .whole) == row.upload)
            #expect(AttachmentAnswers.meaning(of: row.status, to: .part) == row.upload)
            #expect(AttachmentAnswers.meaning(of: row.status, to: .download) == row.download)
        }
    }

    // MARK: Parts of answers

    @Test(
        arguments: [
            ("{\"code\":\"EXPIRED_URL\"}", "EXPIRED_URL"),
            (
                "<?xml version=\"1.0\"?><Error><Code>SignatureDoesNotMatch</Code><Message>m</Message></Error>",
                "SignatureDoesNotMatch"
            ),
            ("<Error><Code>a secret, and more</Code></Error>", nil), ("<Code>", nil), ("</Code><Code>", nil),
            ("", nil), ("\u{0}", nil),
        ] as [(String, String?)])
    func aStorageNamesItsProblem(body: String, code: String?) {
        #expect(SignedStorage.code(of: Array(body.utf8)) == code)
    }

    @Test func theEndOfALongAnswerIsNotLookedAt() {
        let filler = String(repeating: "x", count: 20 << 10)
        #expect(SignedStorage.code(of: Array((filler + "<Code>Late</Code>").utf8)) == nil)
        #expect(SignedStorage.code(of: Array(("<Code>Early</Code>" + filler).utf8)) == "Early")
    }

    @Test func aRangeIsRead() throws {
        let range = try #require(ContentRange("bytes 8-15/100"))
        #expect(range.first == 8 && range.last == 15 && range.total == 100)
        let open = try #require(ContentRange("Bytes 0-0/*"))
        #expect(open.first == 0 && open.last == 0 && open.total == nil)
    }

    @Test(arguments: [
        "", "bytes", "bytes 8-15", "bytes 8-15/", "bytes -15/100", "bytes 8-/100", "bytes 15-8/100",
        "bytes 8-100/100", "bytes */100", "items 8-15/100", "bytes 8-15/100/1", "bytes 8-15-16/100",
        "bytes +8-15/100", "bytes 8-99999999999999999999/*",
    ])
    func whatIsNoRangeIsNot(text: String) { #expect(ContentRange(text) == nil) }

    @Test func anAddressIsShownWithoutItsQuery() {
        #expect(ShownText.place("https://a:b@h.test/k?sig=1#x") == "https://h.test/k")
        #expect(ShownText.place("https://h.test/k?\u{301}sig=1") == "https://h.test/k")
        #expect(ShownText.place("https://h.test#sig") == "https://h.test")
        #expect(ShownText.place("nothing") == "nothing")
    }
}
