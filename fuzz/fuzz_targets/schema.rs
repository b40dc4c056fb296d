#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| portolan_fuzz_targets::schema(data));
