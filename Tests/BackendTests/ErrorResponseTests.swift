import PowerSyncBackend
import PowerSyncHTTP
import Testing

struct ErrorResponseTests {
    /// The client keeps its upload and comes again, which it would not do after a 400.
    @Test func bodiesThatAreTooManyAreNoMistakeOfTheClient() {
        let problem = ErrorResponse.problem(
            for: HTTPError(.overloaded, "too many bodies are being read"), bodyLimit: 1, retryAfter: 3)
        #expect(problem.status == 503 && problem.retryAfter == 3)
    }

    /// Likewise where the server stops or the connection ends while the body comes.
    @Test func aBodyThatWasCutOffIsNoMistakeOfTheClient() {
        let problem = ErrorResponse.problem(
            for: HTTPError(.cut, "the client has left or the server stops"), bodyLimit: 1, retryAfter: 3)
        #expect(problem.status == 503 && problem.retryAfter == 3 && problem.isRetryable)
    }
}
