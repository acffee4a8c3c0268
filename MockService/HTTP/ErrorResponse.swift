import PowerSyncHTTP
import PowerSyncSyncRules
import PowerSyncWire

/// Spells the answers to requests that fail (service 1.3).
enum ErrorResponse {
    /// An error body; members in the order in which the real service writes them.
    private static func make(_ status: Int, _ members: [JSONMember]) -> HTTPResponse {
        JSONResponse.make(status, .object([JSONMember("error", .object(members))]))
    }

    static func unauthorized(_ error: AuthorizationError) -> HTTPResponse {
        make(
            401,
            [
                JSONMember("code", .string(error.code)), JSONMember("status", .integer(401)),
                JSONMember("description", .string(error.description)),
                JSONMember("name", .string("AuthorizationError")),
            ])
    }

    static func notFound(_ method: String, _ path: String) -> HTTPResponse {
        make(
            404,
            [
                JSONMember("code", .string("PSYNC_S2002")), JSONMember("status", .integer(404)),
                JSONMember("description", .string("The path does not exist on this server")),
                JSONMember(
                    "details", .string("The path \(method) \"\(path)\" does not exist on this server")),
                JSONMember("severity", .string("info")), JSONMember("name", .string("RouteNotFound")),
            ])
    }

    static func invalid(_ messages: [String]) -> HTTPResponse {
        make(
            400,
            [
                JSONMember("code", .string("PSYNC_S2001")), JSONMember("status", .integer(400)),
                JSONMember("description", .string("Validation failed")),
                JSONMember("details", .string(JSON.array(messages.map { .string($0) }).text)),
                JSONMember("name", .string("ValidationError")),
            ])
    }

    /// An error of the framework that the real service stands on.
    static func framework(_ status: Int, _ code: String, _ description: String) -> HTTPResponse {
        make(
            status,
            [
                JSONMember("name", .string("FastifyError")),
                JSONMember("code", .string("FST_ERR_CTP_\(code)")),
                JSONMember("status", .integer(status)), JSONMember("description", .string(description)),
            ])
    }

    /// An error of the service itself.
    static func service(_ status: Int, _ code: String, _ description: String) -> HTTPResponse {
        make(
            status,
            [
                JSONMember("code", .string(code)), JSONMember("status", .integer(status)),
                JSONMember("description", .string(description)), JSONMember("name", .string("ServiceError")),
            ])
    }

    /// A request that comes to more than it may (service 3.11); of the message the first line alone.
    static func overLimit(_ error: RequestError) -> HTTPResponse {
        // This one body lacks the status, and the answer has the field of streams, as recorded.
        let answer = make(
            500,
            [
                JSONMember("code", .string("PSYNC_S2305")),
                JSONMember("description", .string(error.message)),
                JSONMember("name", .string("ServiceError")),
            ])
        var fields = answer.fields
        fields.append("x-accel-buffering", "no")
        return HTTPResponse(status: answer.status, fields: fields, body: answer.body)
    }

    /// Something that was not foreseen; a cause that is not named here goes to the log.
    static func unexpected(_ cause: String? = nil) -> HTTPResponse {
        var members = [
            JSONMember("code", .string("PSYNC_S2001")), JSONMember("severity", .string("error")),
            JSONMember("status", .integer(500)), JSONMember("description", .string("Something went wrong")),
        ]
        if let cause { members.append(JSONMember("details", .string(cause))) }
        members.append(JSONMember("name", .string("InternalServerError")))
        return make(500, members)
    }
}

/// Makes answers with a JSON body.
enum JSONResponse {
    static func make(_ status: Int, _ body: JSON) -> HTTPResponse {
        HTTPResponse(
            status: status, fields: ["content-type": "application/json; charset=utf-8"],
            body: .bytes(body.utf8))
    }

    /// A success: the value under `data` (service 1.1).
    static func data(_ value: JSON) -> HTTPResponse { make(200, .object([JSONMember("data", value)])) }
}
