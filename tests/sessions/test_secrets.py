"""What counts as a secret, and that nothing else does."""

import time

import pytest

from benchtui.sessions.secrets import MASK, KnownSecrets, looks_secret, masked, masked_variable

SECRET = "s3cr3tvalue"
NAMES = """
    HF_TOKEN API_KEY AWS_SECRET_ACCESS_KEY AWS_ACCESS_KEY_ID PGPASSWORD MYSQL_PWD apiKey accessToken
    TOKEN_2 key DOCKER_AUTH_CONFIG SECRET_KEY_BASE GITHUB_PAT TORCH_TOKEN DB_PASS MY_CREDENTIALS hfToken
    passphrase
"""
OTHER_NAMES = """
    MONKEY KEYBOARD TOKENIZERS_PARALLELISM tokens max_tokens kv_cache keep PWD OLDPWD pad_token
    eos_token_id PATH new_tokens TOKEN_BUDGET SSH_AUTH_SOCK KeyError key_size AUTHOR num_keys
    forward_pass BYPASS token_ids keys OMP_NUM_THREADS CUDA_VISIBLE_DEVICES TORCH_HOME secretary HOTKEY
"""
TOKENS = (
    "hf_AbCdEfGhIjKlMnOpQrStUvWxYz012345",
    "ghp_1234567890abcdefghijklmnopqrstuvwxyz",
    "github_pat_11AAAAAA0abcdefghij_klmnop",
    "AKIAIOSFODNN7EXAMPLE",
    "sk-proj-abcdefghijklmnop1234",
    "xoxb-123456789012-abcdefgh",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc_DEF-123",
)


@pytest.mark.parametrize("name", NAMES.split())
def test_names_of_secrets(name: str) -> None:
    assert looks_secret(name)
    assert masked_variable(name, SECRET) == MASK
    assert masked_variable(name, MASK) == MASK
    assert masked_variable(name, "1") == "1"  # a switch, such as HF_HUB_DISABLE_IMPLICIT_TOKEN


@pytest.mark.parametrize("name", OTHER_NAMES.split())
def test_names_of_other_things(name: str) -> None:
    assert not looks_secret(name)
    assert masked_variable(name, SECRET) == SECRET


@pytest.mark.parametrize("token", TOKENS)
@pytest.mark.parametrize("text", ["{}", "x {} y", "'{}'", "url/{}?", "k={}", "({})", "a\n{}\nb"])
def test_tokens_of_known_shape(token: str, text: str) -> None:
    found = masked(text.format(token))
    assert token not in found and token[6:] not in found and MASK in found


@pytest.mark.parametrize(
    "text",
    [
        "https://bob:s3cr3tvalue@h/x",
        "postgres://u:s3cr3tvalue@db:5432/x",
        "GET https://h/x?token=s3cr3tvalue&a=1",
        "https://h/x?X-Amz-Signature=s3cr3tvalue",
        "api_key=s3cr3tvalue",
        "password=s3cr3tvalue,x",
        "'API_KEY=s3cr3tvalue with a space'",
        'API_KEY="two words s3cr3tvalue"',
        '{"api_key": "s3cr3tvalue", "n": 3}',
        "{'password': 's3cr3tvalue'}",
        '\\"token\\": \\"s3cr3tvalue\\"',
        "('HF_TOKEN', 's3cr3tvalue')",
        "password: s3cr3tvalue",
        "Authorization: Bearer s3cr3tvalue",
        "Authorization: Basic s3cr3tvalue",
        "{'Authorization': 'Bearer s3cr3tvalue'}",
        "--token s3cr3tvalue",
        "--api-key=s3cr3tvalue",
        "X-Api-Key: s3cr3tvalue",
        "-----BEGIN RSA PRIVATE KEY-----\ns3cr3tvalue\n-----END RSA PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\\ns3cr3tvalue",
    ],
)
def test_secrets_in_texts(text: str) -> None:
    found = masked(text)
    assert SECRET not in found and MASK in found
    assert masked(found) == found


@pytest.mark.parametrize(
    "text",
    [
        "KeyError: 'model.layers.0'",
        "1,234 tokens/s: mean 3 ms",
        "tokens=128 seq=3",
        "invalid token: expected str",
        "can't read /a/b.json: no such file",
        "cuda:0 bf16 compile=reduce-overhead bs=32 seq=128",
        "hf_tokenizer, hf_pipeline and hf_device_map",
        "sk-learn-based-estimators on task-1234567890",
        "API_KEY=*** and API_KEY=***2 at https://***@h/",
        "pad_token=<pad>",
    ],
)
def test_other_texts_stay(text: str) -> None:
    assert masked(text) == text


def test_known_values_are_masked_without_their_name() -> None:
    environment = {
        "AWS_SECRET_ACCESS_KEY": "wJalr/XUtnFEMI+K7",
        "HTTPS_PROXY": "http://me:pr0xypassw0rd@proxy:1",
        "KEY": "short",
        "HOME": "/home/alice",
    }
    known = KnownSecrets(environment, ["of-the-sweep"])
    text = "wJalr/XUtnFEMI+K7 wJalr%2FXUtnFEMI%2BK7 pr0xypassw0rd of-the-sweep short /home/alice"
    assert known.masked(text) == "*** *** *** *** short /home/alice"
    assert KnownSecrets({}).masked("nothing") == "nothing"


@pytest.mark.parametrize(
    "piece", ["sk-", "://a@", "'A=b", "eyJa.a-", "--a ", "a=b ", "-----BEGIN A-----", "\\"]
)
def test_masking_takes_time_in_proportion_to_the_text(piece: str) -> None:
    def cost_s(times: int) -> float:
        begin_s = time.process_time()
        masked(piece * times + "key")
        return time.process_time() - begin_s

    assert cost_s(40_000) < 40 * max(cost_s(4_000), 0.005)  # 100 if it grew with the square
