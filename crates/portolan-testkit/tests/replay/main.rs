//! What real clients said, against a session: it ends no stream, stops talking, sends nothing rejected again, leaves no
//! cluster waiting for its endpoints, and every client ends with what it ended with when it was recorded.

mod player;
mod trace;

use std::path::{Path, PathBuf};

use self::player::Player;

fn traces() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("traces")
}

fn play(path: &Path) -> Player {
    let mut player = Player::new(trace::read(path));
    player.play();
    player
}

#[test]
fn recorded_clients_end_with_what_they_ended_with() {
    let files = std::fs::read_dir(traces()).expect("there are traces");
    let paths = files.map(|file| file.expect("a directory can be listed").path());
    let traces: Vec<_> = paths
        .filter(|p| p.extension().is_some_and(|e| e == "jsonl"))
        .collect();
    assert!(traces.len() > 50, "{} traces", traces.len());
    let (mut findings, mut compared, mut rejections) = (Vec::new(), 0, 0);
    for path in traces {
        let name = path
            .file_stem()
            .expect("traces have names")
            .to_string_lossy()
            .into_owned();
        let player = play(&path);
        compared += player.compared;
        rejections += player.rejections;
        findings.extend(
            player
                .findings
                .iter()
                .map(|finding| format!("{name}: {finding}")),
        );
    }
    assert!(findings.is_empty(), "{}", findings.join("\n"));
    assert!(compared > 2_000, "only {compared} names were compared");
    assert!(
        rejections > 40,
        "only {rejections} rejections were looked at"
    );
}

#[test]
fn envoy_did_not_have_to_wait_where_it_waited() {
    // Each of these clients was seen waiting for endpoints that nobody sent again.
    for name in [
        "envoy_ads_sotw",
        "envoy_ads_sotw_unified",
        "envoy_ads_delta",
        "envoy_ads_delta_unified",
        "extras_paused_sotw",
        "extras_paused_delta",
        "extras_pipeline_sotw",
        "extras_pipeline_sotw_unified",
        "extras_pipeline_delta",
    ] {
        let player = play(&traces().join(format!("{name}.jsonl")));
        assert!(player.reanswers > 0, "{name}");
    }
}
