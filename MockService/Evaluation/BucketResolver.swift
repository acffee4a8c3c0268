import PowerSyncSyncRules
import PowerSyncWire

/// What a request resolves to.
package struct Resolution: Sendable, Equatable {
    /// The buckets, in the order in which they were found.
    package var buckets: [ResolvedBucket] = []
    /// The streams that the first checkpoint describes.
    package var streams: [StreamDescription] = []
    /// Whether the names of the buckets are longer than allowed, and not all of them are here.
    package var isCut = false

    /// Makes an empty resolution.
    package init() {}
}

/// Finds the buckets of a request (service 3.6).
package struct BucketResolver: Sendable {
    private let config: CompiledSyncConfig
    private let prefix: String

    /// Makes a resolver.
    ///
    /// - Parameters:
    ///   - config: The configuration.
    ///   - streamNumber: The number of the replication stream, the prefix of all names.
    package init(config: CompiledSyncConfig, streamNumber: Int64) {
        self.config = config
        prefix = "\(streamNumber)#"
    }

    /// Resolves a request.
    ///
    /// Each subscription may name another bucket with the same long parameter of the connection, so a small request can
    /// ask for names without bound.
    ///
    /// - Parameters:
    ///   - request: The body of the request.
    ///   - token: The payload of its token.
    ///   - limit: The bytes of all names that are made, also of those that name one bucket.
    /// - Returns: Buckets and streams.
    package func resolve(
        _ request: SyncStreamRequest, token: JSON, nameBytes limit: Int = .max
    ) -> Resolution {
        var resolution = Resolution()
        var room = limit
        var places: [ExactText: Int] = [:]
        let connection = ConnectionParameters(request.parameters)
        let shared = ExpressionEvaluator.request(
            RequestValues(token: token, connection: connection, subscription: nil))
        let includesDefaults = request.streams?.includeDefaults ?? true
        let subscriptions = Array((request.streams?.subscriptions ?? []).enumerated())
        for stream in config.streams {
            let name = ExactText(stream.name)
            let explicit = subscriptions.filter { ExactText($0.element.stream) == name }
            let isDefault = stream.isDefault && includesDefaults
            guard isDefault || !explicit.isEmpty else { continue }
            var description = StreamDescription(name: stream.name, isDefault: stream.isDefault)
            let index = resolution.streams.count
            let variants = stream.variants.map { SharedVariant($0, shared) }
            func add(_ parameters: JSON?, _ reason: SubscriptionReason, _ priority: Int, _ subscription: Int?)
            {
                guard !resolution.isCut else { return }
                let values = RequestValues(token: token, connection: connection, subscription: parameters)
                do throws(EvaluationError) {
                    let found = try names(variants, values, &room)
                    guard room >= 0 else {
                        resolution.isCut = true
                        return
                    }
                    for name in found {
                        let place = places[ExactText(name)] ?? resolution.buckets.count
                        if place == resolution.buckets.count {
                            places[ExactText(name)] = place
                            resolution.buckets.append(
                                ResolvedBucket(name: name, priority: priority, reasons: []))
                        }
                        resolution.buckets[place].reasons.append(reason)
                        resolution.buckets[place].priority = min(resolution.buckets[place].priority, priority)
                    }
                } catch {
                    description.errors.append(
                        StreamError(
                            subscription: subscription,
                            message: "Error evaluating bucket ids: \(error.message)"))
                }
            }
            for (number, subscription) in explicit {
                add(
                    subscription.parameters, .subscription(number),
                    subscription.overridePriority ?? stream.priority, number)
            }
            if isDefault { add(nil, .defaultStream(index), stream.priority, nil) }
            resolution.streams.append(description)
        }
        return resolution
    }

    /// The names of one subscription's buckets; all or none, also where there is no room for them.
    private func names(
        _ variants: [SharedVariant], _ values: RequestValues, _ room: inout Int
    ) throws(EvaluationError) -> [String] {
        let evaluator = ExpressionEvaluator.request(values)
        var names: [String] = []
        for variant in variants {
            guard let values = try variant.values(evaluator) else { continue }
            let name = BucketName.make(source: config.sources[variant.source].name, texts: values)
            room -= prefix.utf8.count + name.utf8.count
            guard room >= 0 else { return [] }
            names.append(prefix + name)
        }
        return names
    }
}
