import PowerSyncHTTP
import PowerSyncWire

/// Reads query and body of a request into one object, as the real service does (service 1.1).
enum RequestParameters {
    /// Why there are no parameters; the answer to send.
    struct Refusal: Error {
        let response: HTTPResponse
    }

    /// What a body may hold, in bytes.
    static let bodyLimit = 1 << 20
    /// What a body may hold, in values: more than one that names as many buckets as fit into `bodyLimit`.
    ///
    /// The bodies that the server holds are counted in bytes, and a tree takes thirty times those of `[0,0,0,…]`.
    private static let limits = JSONLimits(values: 1 << 17)

    /// Query and body; a member of the body wins over one of the query.
    ///
    /// GET and HEAD have no body, whatever their fields say: the official SDK asks for write checkpoints with a
    /// content type and nothing behind it.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - body: Its body.
    ///   - names: The members that are wanted; all if nil.
    /// - Returns: An object.
    /// - Throws: `Refusal`.
    static func read(
        _ request: HTTPRequest, _ body: any HTTPRequestBody, keeping names: Set<String>? = nil
    ) async throws(Refusal) -> JSON {
        var members = request.query.map { JSONMember($0.name, .string($0.value)) }
        if request.method == "GET" || request.method == "HEAD" { return .object(members) }
        let bytes: [UInt8]
        do throws(HTTPError) {
            bytes = try await body.collect(limit: bodyLimit)
        } catch {
            if error.code == .bodyTooLarge { throw tooLarge }
            throw Refusal(response: HTTPResponse(status: error.status))
        }
        members += try json(bytes, request.fields["content-type"])?.objectMembers ?? []
        return .object(members.filter { names?.contains($0.name) ?? true })
    }

    private static var tooLarge: Refusal {
        Refusal(response: ErrorResponse.framework(413, "BODY_TOO_LARGE", "Request body is too large"))
    }

    private static func json(_ bytes: [UInt8], _ contentType: String?) throws(Refusal) -> JSON? {
        let type = contentType?.prefix { $0 != ";" }.lowercased().filter { $0 != " " }
        switch type {
        case "application/json":
            guard !bytes.isEmpty else {
                throw Refusal(
                    response: ErrorResponse.framework(
                        400, "EMPTY_JSON_BODY",
                        "Body cannot be empty when content-type is set to 'application/json'"))
            }
            do throws(WireError) {
                return try JSON.parse(bytes, limits: limits)
            } catch {
                if error.code == .tooLarge { throw tooLarge }
                throw Refusal(
                    response: ErrorResponse.framework(
                        400, "INVALID_JSON_BODY",
                        "Body is not valid JSON but content-type is set to 'application/json'"))
            }
        case "text/plain": return nil
        case nil where bytes.isEmpty: return nil
        default:
            throw Refusal(
                response: ErrorResponse.framework(415, "INVALID_MEDIA_TYPE", "Unsupported Media Type"))
        }
    }
}
