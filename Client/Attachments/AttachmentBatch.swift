import PowerSyncWire

/// A question about a small file that a backend may be asked together with others.
enum BatchQuestion: Sendable, Hashable {
    /// Where a file goes.
    case upload(AttachmentUploadRequest)
    /// Whether all bytes of a file are stored, by the id of its attachment.
    case complete(String)
    /// Where a file is, by the id of its attachment.
    case download(String)

    /// The kinds, by the names of the members of a batch that have their questions and answers.
    enum Kind: String, Sendable, CaseIterable {
        case upload, download, complete
    }

    /// Its kind.
    var kind: Kind {
        switch self {
        case .upload: .upload
        case .complete: .complete
        case .download: .download
        }
    }

    /// What stands in a batch.
    var json: JSON {
        switch self {
        case .upload(let request): request.json
        case .complete(let id), .download(let id): .string(id)
        }
    }

    /// The most bytes of it in a batch: each byte of a text may become six.
    var mostBytes: Int {
        switch self {
        case .upload(let request):
            6 * (request.id.utf8.count + request.filename.utf8.count + request.contentType.utf8.count) + 256
        case .complete(let id), .download(let id): 6 * id.utf8.count + 3
        }
    }
}

/// Several questions in one request: `POST /api/v1/attachments/batch` (Backend/Attachments/SPEC.md).
struct AttachmentBatch: Sendable, Hashable {
    /// What one of the questions was answered with.
    enum Answer: Sendable, Hashable {
        /// What it would have been answered alone.
        case body(JSON)
        /// A problem, with what it calls itself as far as that may be shown, and the seconds after which to come again.
        case problem(status: Int, code: String?, retryAfter: Int64? = nil)

        /// How long nothing is to be asked; nil where that is not said.
        var pause: Duration? {
            // A quota does not pass with time, and another file may be within it.
            guard case .problem(let status, let code, let retryAfter?) = self, status == 429 || status == 503,
                code != AttachmentProblem.code(of: AttachmentProblem.quota)
            else { return nil }
            return .seconds(retryAfter)
        }
    }

    /// The questions.
    let questions: [BatchQuestion]

    /// The question as a JSON object.
    var json: JSON {
        .object(
            BatchQuestion.Kind.allCases.compactMap { kind in
                let list = questions.filter { $0.kind == kind }.map(\.json)
                return list.isEmpty ? nil : JSONMember(kind.rawValue, .array(list))
            })
    }

    /// Reads the answers.
    ///
    /// - Parameter json: the parsed body.
    /// - Returns: one for each question, in the same order; nil for what is not exactly that, as the answer of a backend
    ///   that does not know one of the kinds.
    func answers(in json: JSON) -> [Answer]? {
        var rest: [BatchQuestion.Kind: ArraySlice<JSON>] = [:]
        for kind in BatchQuestion.Kind.allCases {
            let count = questions.count { $0.kind == kind }
            if count == 0 { continue }
            guard let list = json[kind.rawValue]?.arrayValue, list.count == count else { return nil }
            rest[kind] = list[...]
        }
        var answers: [Answer] = []
        for question in questions {
            guard let item = rest[question.kind]?.popFirst(), let answer = Self.answer(item)
            else { return nil }
            answers.append(answer)
        }
        return answers
    }

    private static func answer(_ item: JSON) -> Answer? {
        let code = item["code"]?.stringValue.flatMap(ShownText.code)
        if let status = item["status"]?.int64Value.flatMap({ Int(exactly: $0) }), status >= 300 {
            return .problem(status: status, code: code, retryAfter: item["retryAfter"]?.int64Value)
        }
        // What looks like a problem and does not say which is asked about alone.
        guard item.objectMembers != nil, item["code"] == nil, item["error"] == nil else { return nil }
        return .body(item)
    }
}
