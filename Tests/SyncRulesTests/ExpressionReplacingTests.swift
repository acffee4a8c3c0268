import PowerSyncSyncRules
import PowerSyncWire
import Testing

/// Replacing parts of expressions.
struct ExpressionReplacingTests {
    private static let part = Expression.column(.row(0), ExactText("a"))
    private static let other = Expression.element(.element(3), .key)

    /// An expression of each kind that has parts, made of one part.
    private static func kinds(_ part: Expression) -> [Expression] {
        [
            .call(.iif, [part, .literal(.null), part]), .cast(.text, part), .arithmetic(.add, part, part),
            .comparison(.less, part, part), .concat(part, part), .member(part, part, .json),
            .isSame(part, part), .isTrue(part, true), .and([part, part]), .or([part]), .not(part),
            .isNull(part), .between(part, part, part),
            .choice(base: part, [Expression.Branch(when: part, then: part)], otherwise: part),
            .choice(base: nil, [Expression.Branch(when: part, then: .literal(.null))], otherwise: nil),
            .oneOf(part, [part, part]), .contains(list: part, part), .overlaps(part, part),
        ]
    }

    @Test func everyPartIsReplacedAndNothingElse() {
        for (old, new) in zip(Self.kinds(Self.part), Self.kinds(Self.other)) {
            #expect(old.replacing { $0 == Self.part ? Self.other : nil } == new)
            #expect(old.replacing { _ in nil } == old)
            #expect(Expression.not(old).replacing { $0 == old ? Self.part : nil } == .not(Self.part))
        }
    }

    @Test func whatWasPutInIsNotLookedAtAgain() {
        let wrapped = Self.part.replacing { $0 == Self.part ? .not(Self.part) : nil }
        #expect(wrapped == .not(Self.part))
    }
}
