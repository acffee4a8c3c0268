import PowerSync

/// Errors as a person at the prompt reads them: in one line, without what stands in the line above anyway.
enum PromptFailure {
    /// Returns the text of an error.
    static func text(of error: Any) -> String {
        if error is CancellationError { return "interrupted" }
        if let ofFile = AttachmentFailure.described(error) { return DisplayText.of(ofFile.text) }
        if let error = error as? PowerSyncError, case .sqliteError(_, _, let message, let text, _) = error {
            return DisplayText.of(message ?? text ?? "\(error)")
        }
        return DisplayText.of("\(error)")
    }
}
