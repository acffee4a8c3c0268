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
}
