import PowerSyncSystem

/// What a request shows of whom it is from: read once, a value without a decision.
package struct Credentials: Sendable, Hashable {
    /// What is shown in one place that takes one thing.
    package enum Shown: Sendable, Hashable {
        /// Nothing.
        case none
        /// This.
        case one(String)
        /// More than one thing: two readers could take different ones.
        case several
    }

    /// The other end of the connection; nil only where a handler is called without one.
    package var peer: IPAddress?
    /// Who stands behind the trusted proxies, else the peer (backend 7, number 21).
    package var client: IPAddress?
    /// `Authorization`.
    package var authorization = Shown.none
    /// The cookie that `SESSION_COOKIE` names.
    package var cookie = Shown.none
    /// The field that `TRUSTED_USER_HEADER` names.
    package var userHeader = Shown.none
    /// Whether `X-Requested-With` is there, which no page of another site can send unasked.
    package var isMarked = false
    /// `Origin`; what no origin is where there are several.
    package var origin: String?
    /// `Sec-Fetch-Site`, which browsers set, and no page can: whose page has sent the request.
    package var site: String?
    /// `Host`.
    package var host: String?

    /// Makes credentials that show nothing.
    package init() {}
}
