"""Model APIs: one adapter per wire API, and two transports that all of them use. Only this room talks to models.

An adapter is a module found by its API's name (`foo-bar` is `providers/apis/foo_bar.py` or a package of that name). Its
sections are always in this order:

    API                      the name
    NOT_APPLICABLE           hazards (golden/README.md) that cannot occur here, each with its reason
    encode_request           Request -> WireRequest (pure)
    encode_message(s)        history -> the API's shape (pure)
    encode_tools             ToolSpecs -> the API's shape (pure)
    auth_headers             Credential -> headers (pure)
    Decoder                  frames -> ModelEvents (pure): feed(frame), finish(), reported()
    map_stop, map_usage      the API's stop reasons and token counts -> ours (pure)
    whole_frames             an answer that was not streamed -> the frames of a stream (pure)

Before encoding, `fitting/prepare` fits a request to its endpoint; after a refusal, `fitting/endpoint_adaptation`
changes it.
"""
