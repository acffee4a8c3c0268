import PowerSyncWire

/// Gives the values that an expression reads: of a row, of a tuple of rows, or of a request.
///
/// `ExpressionRun` asks for what it needs alone, which a branch that is not taken is not.
package protocol ExpressionInputs {
    /// The value of a column of a row; NULL if the row has none of that name.
    func column(_ input: Input, _ name: ExactText) throws(EvaluationError) -> ScalarValue

    /// A part of the element that is being looked at.
    func element(_ input: Input, _ part: ElementPart) throws(EvaluationError) -> ScalarValue

    /// A value of the request; NULL if it brings none.
    func parameter(_ parameter: RequestParameter) throws(EvaluationError) -> ScalarValue

    /// All of a source of the request, as JSON text.
    func request(_ source: RequestParameter.Source) throws(EvaluationError) -> ScalarValue

    /// What is known of the table that a row is of.
    func table(_ fact: TableFact, _ input: Input) throws(EvaluationError) -> ScalarValue

    /// What counts the work of the request; nil for rows, whose programs count their own.
    var work: RequestWork? { get }
}

extension ExpressionInputs {
    /// Nothing counts.
    package var work: RequestWork? { nil }
}
