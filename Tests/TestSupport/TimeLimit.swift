import Testing

extension Trait where Self == TimeLimitTrait {
    /// Ends a test that hangs, well behind the deadline of everything that it waits for (`TestOptions.deadline`).
    ///
    /// - Parameter minutes: How long a test may take, before `POWERSYNC_TEST_PATIENCE` stretches it.
    /// - Returns: The trait.
    package static func patient(minutes: Int = 20) -> Self {
        .timeLimit(.minutes(Int((Double(minutes) * TestOptions.patience).rounded(.up))))
    }
}
