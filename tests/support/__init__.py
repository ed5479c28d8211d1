"""What tests share: servers, browsers, reference tools, made-up data."""
