//! Puts what listeners and transport sockets would discover into them.

use portolan_core::well_known::{EXTENSION_CONFIG, SECRET};
use portolan_types::Any;
use portolan_types::envoy::config::core::v3::config_source::ConfigSourceSpecifier;
use portolan_types::envoy::config::core::v3::{
    ConfigSource, ExtensionConfigSource, TransportSocket, TypedExtensionConfig, transport_socket,
};
use portolan_types::envoy::config::listener::v3::{
    FilterChain, Listener, filter, listener_filter,
};
use portolan_types::envoy::extensions::filters::network::http_connection_manager::v3::http_connection_manager::RouteSpecifier;
use portolan_types::envoy::extensions::filters::network::http_connection_manager::v3::{
    HttpConnectionManager, http_filter,
};
use portolan_types::envoy::extensions::transport_sockets::tls::v3::common_tls_context::ValidationContextType;
use portolan_types::envoy::extensions::transport_sockets::tls::v3::downstream_tls_context::SessionTicketKeysType;
use portolan_types::envoy::extensions::transport_sockets::tls::v3::{
    CommonTlsContext, DownstreamTlsContext, SdsSecretConfig, UpstreamTlsContext,
};

use super::EnvoyGateError;
use super::fold::Fold;

pub(super) fn listener(fold: &mut Fold<'_>, listener: &mut Listener) -> Result<(), EnvoyGateError> {
    for filter in &mut listener.listener_filters {
        if let Some(listener_filter::ConfigType::ConfigDiscovery(source)) = &filter.config_type
            && let Some(config) = discovered(fold, &filter.name, source)?
        {
            filter.config_type = Some(listener_filter::ConfigType::TypedConfig(config));
        }
    }
    for chain in listener
        .filter_chains
        .iter_mut()
        .chain(&mut listener.default_filter_chain)
    {
        filter_chain(fold, chain)?;
    }
    if let Some(config) = listener
        .api_listener
        .as_mut()
        .and_then(|api| api.api_listener.as_mut())
    {
        http(fold, config)?;
    }
    Ok(())
}

fn filter_chain(fold: &mut Fold<'_>, chain: &mut FilterChain) -> Result<(), EnvoyGateError> {
    for filter in &mut chain.filters {
        if let Some(filter::ConfigType::ConfigDiscovery(source)) = &filter.config_type
            && let Some(config) = discovered(fold, &filter.name, source)?
        {
            filter.config_type = Some(filter::ConfigType::TypedConfig(config));
        }
        if let Some(filter::ConfigType::TypedConfig(config)) = &mut filter.config_type {
            http(fold, config)?;
        }
    }
    transport_socket(fold, chain.transport_socket.as_mut());
    Ok(())
}

/// The table and the filters of an HTTP connection manager. What is none, and what is a broken one, is for Envoy to judge.
fn http(fold: &mut Fold<'_>, config: &mut Any) -> Result<(), EnvoyGateError> {
    let Ok(mut manager) = config.unpack::<HttpConnectionManager>() else {
        return Ok(());
    };
    if let Some(RouteSpecifier::Rds(rds)) = &manager.route_specifier
        && let Some(table) = fold.table(&rds.route_config_name)?
    {
        manager.route_specifier = Some(RouteSpecifier::RouteConfig(table));
    }
    for filter in &mut manager.http_filters {
        if let Some(http_filter::ConfigType::ConfigDiscovery(source)) = &filter.config_type
            && let Some(config) = discovered(fold, &filter.name, source)?
        {
            filter.config_type = Some(http_filter::ConfigType::TypedConfig(config));
        }
    }
    *config = Any::pack(&manager);
    Ok(())
}

/// The configuration of a filter that is discovered, if there is one of a type that it takes.
fn discovered(
    fold: &mut Fold<'_>,
    name: &str,
    source: &ExtensionConfigSource,
) -> Result<Option<Any>, EnvoyGateError> {
    let found = fold.piece::<TypedExtensionConfig>(&EXTENSION_CONFIG, name)?;
    let config = found.and_then(|found| found.typed_config);
    let is_taken = |config: &Any| {
        let mut urls = source.type_urls.iter();
        urls.any(|url| url.rsplit('/').next() == config.type_url.rsplit('/').next())
    };
    Ok(config.filter(is_taken))
}

/// The secrets of TLS. Those of other transport sockets stay to be discovered.
pub(super) fn transport_socket(fold: &mut Fold<'_>, socket: Option<&mut TransportSocket>) {
    let Some(transport_socket::ConfigType::TypedConfig(config)) =
        socket.and_then(|socket| socket.config_type.as_mut())
    else {
        return;
    };
    if let Ok(mut tls) = config.unpack::<DownstreamTlsContext>() {
        context(fold, tls.common_tls_context.as_mut());
        if let Some(SessionTicketKeysType::SessionTicketKeysSdsSecretConfig(secret)) =
            &mut tls.session_ticket_keys_type
        {
            make_static(fold, secret);
        }
        *config = Any::pack(&tls);
    } else if let Ok(mut tls) = config.unpack::<UpstreamTlsContext>() {
        context(fold, tls.common_tls_context.as_mut());
        *config = Any::pack(&tls);
    }
}

fn context(fold: &mut Fold<'_>, context: Option<&mut CommonTlsContext>) {
    let Some(context) = context else {
        return;
    };
    for certificate in &mut context.tls_certificate_sds_secret_configs {
        make_static(fold, certificate);
    }
    match &mut context.validation_context_type {
        Some(ValidationContextType::ValidationContextSdsSecretConfig(secret)) => {
            make_static(fold, secret);
        }
        Some(ValidationContextType::CombinedValidationContext(combined)) => {
            if let Some(secret) = &mut combined.validation_context_sds_secret_config {
                make_static(fold, secret);
            }
        }
        _ => {}
    }
}

/// A secret that is named without a source is looked for among the static ones.
fn make_static(fold: &mut Fold<'_>, secret: &mut SdsSecretConfig) {
    let is_expected = is_from_the_same_stream(secret.sds_config.as_ref());
    if !fold.leaves_out(&SECRET, &secret.name) && (fold.has_secret(&secret.name) || is_expected) {
        secret.sds_config = None;
    }
}

fn is_from_the_same_stream(source: Option<&ConfigSource>) -> bool {
    let specifier = source.and_then(|source| source.config_source_specifier.as_ref());
    matches!(
        specifier,
        Some(ConfigSourceSpecifier::Ads(_) | ConfigSourceSpecifier::Self_(_))
    )
}
