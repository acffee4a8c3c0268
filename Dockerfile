# syntax=docker/dockerfile:1
# The upload backend and the mock sync service: docker build --target backend . (or mock-service).

# The version that everything was run with.
FROM swift:6.3.1-bookworm AS build
WORKDIR /source
COPY Scripts/setup.sh Scripts/setup.sh
RUN Scripts/setup.sh libraries
# Only what these two programs are made of, so that a change elsewhere builds nothing again; POWERSYNC_ONLY leaves the
# targets of the other folders out of the package.
ENV POWERSYNC_ONLY=BackendCommand,MockServiceCommand
COPY Scripts/release.sh Scripts/release.sh
COPY Package.swift ./
COPY Wire Wire
COPY Platform Platform
COPY Backend Backend
COPY MockService MockService
RUN --mount=type=cache,target=/source/.build \
    Scripts/release.sh powersync-backend powersync-mock-service \
    && cp -r .build/dist /dist

# What the programs link, curl for the health checks, and nothing to build with.
# Not pinned further: it is the patches of its libraries that one wants.
FROM debian:bookworm-slim AS runtime
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends \
        ca-certificates curl libcurl4 libexpat1 libpq5 libsqlite3-0 libssl3 libstdc++6 \
        libyaml-0-2 libzstd1 tzdata zlib1g \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --no-create-home --shell /usr/sbin/nologin powersync \
    && install --directory --owner=powersync --group=powersync --mode=700 /var/lib/powersync \
        /var/lib/powersync/keys /var/lib/powersync/state /var/lib/powersync/attachments
USER powersync
WORKDIR /var/lib/powersync
STOPSIGNAL SIGTERM

FROM runtime AS backend
COPY --from=build /dist/powersync-backend /usr/bin/
EXPOSE 6060 9464
ENTRYPOINT ["powersync-backend"]
CMD ["start"]

FROM runtime AS mock-service
COPY --from=build /dist/powersync-mock-service /usr/bin/
EXPOSE 8080
ENTRYPOINT ["powersync-mock-service"]
CMD ["start"]
