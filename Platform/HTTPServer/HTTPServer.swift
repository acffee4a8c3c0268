import CPowerSyncSystem
import PowerSyncHTTP
import PowerSyncSystem

/// A server for HTTP/1.1 on one port.
///
/// The poller's thread only wakes tasks; every connection is a task on the global pool, so a slow handler holds up
/// nobody else as long as it does not block its thread.
package final class HTTPServer: Sendable {
    private let listener: Listener
    private let state: ServerState

    /// Binds and listens; connections are accepted once `run` is called.
    ///
    /// Raises the number of descriptors that the program may have open to what the system allows it.
    ///
    /// - Parameters:
    ///   - configuration: Where to listen and what to put up with.
    ///   - poller: The poller of the program.
    /// - Throws: `addressInUse` and the like, with a message that says what to do.
    package init(configuration: HTTPServerConfiguration, poller: Poller) throws(HTTPServerError) {
        listener = try Listener(configuration, poller: poller)
        state = ServerState(configuration, poller: poller)
    }

    /// The port that the server listens on.
    package var port: Int { listener.port }

    /// The number of connections being served.
    package var connectionCount: Int { state.connectionCount }

    /// The number of bodies that are held back, so that tests can wait for it.
    var heldBackCount: Int { state.bodyRoom.waiting }

    /// The bytes of bodies that room is taken for, so that tests can wait for it.
    var heldBodyBytes: Int { state.bodyRoom.taken }

    /// The number of connections that wait for a request, so that tests can wait for it.
    var restingCount: Int { state.restingCount }

    /// Serves until `stop` was called and every connection has ended; call it once.
    ///
    /// Cancelling the task cancels every handler and cuts every connection. A handler that ignores its
    /// cancellation is waited for.
    ///
    /// - Parameter handler: Answers each request, in a task that is cancelled when the client is gone.
    package func run(_ handler: @escaping HTTPHandler) async {
        // libdispatch makes its descriptors when it is first used, and ends the process if there are none left.
        // An error means that the task is cancelled, which is noticed below.
        try? await Task.sleep(for: .nanoseconds(1))
        await withDiscardingTaskGroup { group in
            await acceptConnections { descriptor, peer in
                guard let channel = try? state.poller.channel(descriptor) else {
                    // The poller has stopped: nobody can be served any more.
                    closeDescriptor(descriptor)
                    return
                }
                admit(Connection(channel, peer, state), channel, &group, handler)
            }
            listener.close()
            await cutAfterGrace()
        }
    }

    /// Stops the server: nothing new is accepted, idle connections are closed, streams are cancelled.
    ///
    /// Requests that have arrived are answered. A second call without grace cuts everything at once.
    ///
    /// - Parameter grace: How long requests in work may take; then they are cancelled and their connections cut.
    package func stop(grace: Duration) {
        if state.stop(grace: grace) { listener.channel.hint() }
    }

    // MARK: The acceptor

    private func acceptConnections(_ take: (Int32, IPAddress?) -> Void) async {
        while true {
            do {
                // Also after a stop, once: who was in the queue by then is still served.
                let isLast = state.isStopping
                while let (descriptor, peer) = try listener.accept() { take(descriptor, peer) }
                if isLast { return }
                _ = try await listener.channel.readable()
            } catch is CancellationError {
                return
            } catch {
                // No descriptor is left: those in use must first be given back.
                if state.isStopping { return }
                guard (try? await state.poller.sleep(until: .now + .milliseconds(50))) != nil else { return }
            }
        }
    }

    private func admit(
        _ connection: Connection, _ channel: Channel, _ group: inout DiscardingTaskGroup,
        _ handler: @escaping HTTPHandler
    ) {
        prepare(channel.descriptor)
        switch state.admit(connection) {
        case .serve(let id):
            group.addTask {
                await connection.run(handler)
                self.state.leave(id)
            }
        case .refuse(let id):
            group.addTask {
                await connection.refuse()
                self.state.leave(id)
            }
        case .drop:
            channel.deregister()
            closeDescriptor(channel.descriptor)
        }
    }

    private func prepare(_ descriptor: Int32) {
        powersync_set_no_delay(descriptor)
        powersync_set_peer_timeout(
            descriptor, Int32(clamping: Int(state.configuration.peerTimeout / .milliseconds(1))))
        powersync_set_send_buffer(descriptor, Int32(clamping: state.configuration.sendBufferBytes))
    }

    private func cutAfterGrace() async {
        guard let deadline = state.stopDeadline else { return }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.state.untilEmpty() }
            group.addTask {
                // Cancelled when the last connection has ended first.
                try? await self.state.poller.sleep(until: deadline)
            }
            await group.next()
            group.cancelAll()
        }
        state.cutAll()
    }
}
