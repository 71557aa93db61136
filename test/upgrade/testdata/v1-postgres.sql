--
-- PostgreSQL database dump
--

\restrict 3WteRYIeZudxIcZ9wWemK6nWLSqdrDxCu0x6fvL62Zekp4b0VMIPQxU4npdm5iO

-- Dumped from database version 15.18 (Debian 15.18-0+deb12u1)
-- Dumped by pg_dump version 15.18 (Debian 15.18-0+deb12u1)

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

--
-- Name: audit_append_only(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.audit_append_only() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN RAISE EXCEPTION 'the audit log is append-only'; END $$;


SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: accounts; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.accounts (
    id text NOT NULL COLLATE pg_catalog."C",
    email text NOT NULL COLLATE pg_catalog."C",
    password text NOT NULL COLLATE pg_catalog."C",
    plan text NOT NULL COLLATE pg_catalog."C",
    operator boolean NOT NULL,
    card_brand text COLLATE pg_catalog."C",
    card_last_four text COLLATE pg_catalog."C",
    card_exp_month bigint,
    card_exp_year bigint,
    card_processor text COLLATE pg_catalog."C",
    card_reference text COLLATE pg_catalog."C",
    created bigint,
    version bigint NOT NULL
);


--
-- Name: alerts; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.alerts (
    account text NOT NULL COLLATE pg_catalog."C",
    day bigint NOT NULL,
    percent bigint NOT NULL,
    leased bigint
);


--
-- Name: audit; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.audit (
    number bigint NOT NULL,
    at bigint,
    actor text NOT NULL COLLATE pg_catalog."C",
    origin text NOT NULL COLLATE pg_catalog."C",
    action text NOT NULL COLLATE pg_catalog."C",
    account text NOT NULL COLLATE pg_catalog."C",
    subject text NOT NULL COLLATE pg_catalog."C",
    detail text NOT NULL COLLATE pg_catalog."C",
    digest bytea NOT NULL
);


--
-- Name: changes; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.changes (
    number bigint NOT NULL,
    account text NOT NULL COLLATE pg_catalog."C",
    key_id text NOT NULL COLLATE pg_catalog."C"
);


--
-- Name: key_secrets; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.key_secrets (
    key_id text NOT NULL COLLATE pg_catalog."C",
    "position" bigint NOT NULL,
    digest bytea NOT NULL,
    expires bigint
);


--
-- Name: key_values; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.key_values (
    key_id text NOT NULL COLLATE pg_catalog."C",
    "position" bigint NOT NULL,
    digest bytea NOT NULL,
    sealed bytea,
    prefix text NOT NULL COLLATE pg_catalog."C",
    expires bigint
);


--
-- Name: keys; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.keys (
    id text NOT NULL COLLATE pg_catalog."C",
    account text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    settings text NOT NULL COLLATE pg_catalog."C",
    created bigint,
    revoked bigint,
    version bigint NOT NULL
);


--
-- Name: meta; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.meta (
    name text NOT NULL COLLATE pg_catalog."C",
    value text NOT NULL COLLATE pg_catalog."C"
);


--
-- Name: migrations; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.migrations (
    number bigint NOT NULL,
    at bigint NOT NULL
);


--
-- Name: moved_bytes; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.moved_bytes (
    account text NOT NULL COLLATE pg_catalog."C",
    month bigint NOT NULL,
    bytes bigint NOT NULL
);


--
-- Name: pin_claims; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.pin_claims (
    id text NOT NULL COLLATE pg_catalog."C",
    content text NOT NULL COLLATE pg_catalog."C",
    account text NOT NULL COLLATE pg_catalog."C",
    bytes bigint NOT NULL,
    at bigint NOT NULL
);


--
-- Name: pin_content; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.pin_content (
    content text NOT NULL COLLATE pg_catalog."C",
    freed bigint,
    removing bigint
);


--
-- Name: pin_loose; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.pin_loose (
    id text NOT NULL COLLATE pg_catalog."C",
    account text NOT NULL COLLATE pg_catalog."C",
    bytes bigint NOT NULL,
    at bigint NOT NULL
);


--
-- Name: pin_usage; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.pin_usage (
    account text NOT NULL COLLATE pg_catalog."C",
    bytes bigint NOT NULL
);


--
-- Name: pins; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.pins (
    account text NOT NULL COLLATE pg_catalog."C",
    cid text NOT NULL COLLATE pg_catalog."C",
    content text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    deep boolean NOT NULL,
    size bigint NOT NULL,
    created bigint,
    unpinned bigint
);


--
-- Name: sequences; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.sequences (
    one bigint NOT NULL,
    change bigint NOT NULL,
    audit bigint NOT NULL,
    CONSTRAINT sequences_one_check CHECK ((one = 1))
);


--
-- Name: sessions; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.sessions (
    digest bytea NOT NULL,
    account text NOT NULL COLLATE pg_catalog."C",
    created bigint,
    expires bigint
);


--
-- Name: stored_bytes; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.stored_bytes (
    account text NOT NULL COLLATE pg_catalog."C",
    bytes bigint NOT NULL
);


--
-- Name: usage_day; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.usage_day (
    account text NOT NULL COLLATE pg_catalog."C",
    at bigint NOT NULL,
    key_id text NOT NULL COLLATE pg_catalog."C",
    network text NOT NULL COLLATE pg_catalog."C",
    method text NOT NULL COLLATE pg_catalog."C",
    outcome text NOT NULL COLLATE pg_catalog."C",
    requests bigint NOT NULL,
    credits bigint NOT NULL,
    bytes_in bigint NOT NULL,
    bytes_out bigint NOT NULL,
    h00 bigint NOT NULL,
    h01 bigint NOT NULL,
    h02 bigint NOT NULL,
    h03 bigint NOT NULL,
    h04 bigint NOT NULL,
    h05 bigint NOT NULL,
    h06 bigint NOT NULL,
    h07 bigint NOT NULL,
    h08 bigint NOT NULL,
    h09 bigint NOT NULL,
    h10 bigint NOT NULL,
    h11 bigint NOT NULL,
    h12 bigint NOT NULL,
    h13 bigint NOT NULL,
    h14 bigint NOT NULL,
    h15 bigint NOT NULL,
    h16 bigint NOT NULL,
    h17 bigint NOT NULL,
    h18 bigint NOT NULL,
    h19 bigint NOT NULL
);


--
-- Name: usage_day_all; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.usage_day_all (
    account text NOT NULL COLLATE pg_catalog."C",
    at bigint NOT NULL,
    key_id text NOT NULL COLLATE pg_catalog."C",
    network text NOT NULL COLLATE pg_catalog."C",
    method text NOT NULL COLLATE pg_catalog."C",
    outcome text NOT NULL COLLATE pg_catalog."C",
    requests bigint NOT NULL,
    credits bigint NOT NULL,
    bytes_in bigint NOT NULL,
    bytes_out bigint NOT NULL,
    h00 bigint NOT NULL,
    h01 bigint NOT NULL,
    h02 bigint NOT NULL,
    h03 bigint NOT NULL,
    h04 bigint NOT NULL,
    h05 bigint NOT NULL,
    h06 bigint NOT NULL,
    h07 bigint NOT NULL,
    h08 bigint NOT NULL,
    h09 bigint NOT NULL,
    h10 bigint NOT NULL,
    h11 bigint NOT NULL,
    h12 bigint NOT NULL,
    h13 bigint NOT NULL,
    h14 bigint NOT NULL,
    h15 bigint NOT NULL,
    h16 bigint NOT NULL,
    h17 bigint NOT NULL,
    h18 bigint NOT NULL,
    h19 bigint NOT NULL
);


--
-- Name: usage_day_keys; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.usage_day_keys (
    account text NOT NULL COLLATE pg_catalog."C",
    at bigint NOT NULL,
    key_id text NOT NULL COLLATE pg_catalog."C",
    network text NOT NULL COLLATE pg_catalog."C",
    method text NOT NULL COLLATE pg_catalog."C",
    outcome text NOT NULL COLLATE pg_catalog."C",
    requests bigint NOT NULL,
    credits bigint NOT NULL,
    bytes_in bigint NOT NULL,
    bytes_out bigint NOT NULL,
    h00 bigint NOT NULL,
    h01 bigint NOT NULL,
    h02 bigint NOT NULL,
    h03 bigint NOT NULL,
    h04 bigint NOT NULL,
    h05 bigint NOT NULL,
    h06 bigint NOT NULL,
    h07 bigint NOT NULL,
    h08 bigint NOT NULL,
    h09 bigint NOT NULL,
    h10 bigint NOT NULL,
    h11 bigint NOT NULL,
    h12 bigint NOT NULL,
    h13 bigint NOT NULL,
    h14 bigint NOT NULL,
    h15 bigint NOT NULL,
    h16 bigint NOT NULL,
    h17 bigint NOT NULL,
    h18 bigint NOT NULL,
    h19 bigint NOT NULL
);


--
-- Name: usage_hour; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.usage_hour (
    account text NOT NULL COLLATE pg_catalog."C",
    at bigint NOT NULL,
    key_id text NOT NULL COLLATE pg_catalog."C",
    network text NOT NULL COLLATE pg_catalog."C",
    method text NOT NULL COLLATE pg_catalog."C",
    outcome text NOT NULL COLLATE pg_catalog."C",
    requests bigint NOT NULL,
    credits bigint NOT NULL,
    bytes_in bigint NOT NULL,
    bytes_out bigint NOT NULL,
    h00 bigint NOT NULL,
    h01 bigint NOT NULL,
    h02 bigint NOT NULL,
    h03 bigint NOT NULL,
    h04 bigint NOT NULL,
    h05 bigint NOT NULL,
    h06 bigint NOT NULL,
    h07 bigint NOT NULL,
    h08 bigint NOT NULL,
    h09 bigint NOT NULL,
    h10 bigint NOT NULL,
    h11 bigint NOT NULL,
    h12 bigint NOT NULL,
    h13 bigint NOT NULL,
    h14 bigint NOT NULL,
    h15 bigint NOT NULL,
    h16 bigint NOT NULL,
    h17 bigint NOT NULL,
    h18 bigint NOT NULL,
    h19 bigint NOT NULL
);


--
-- Name: usage_hour_all; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.usage_hour_all (
    account text NOT NULL COLLATE pg_catalog."C",
    at bigint NOT NULL,
    key_id text NOT NULL COLLATE pg_catalog."C",
    network text NOT NULL COLLATE pg_catalog."C",
    method text NOT NULL COLLATE pg_catalog."C",
    outcome text NOT NULL COLLATE pg_catalog."C",
    requests bigint NOT NULL,
    credits bigint NOT NULL,
    bytes_in bigint NOT NULL,
    bytes_out bigint NOT NULL,
    h00 bigint NOT NULL,
    h01 bigint NOT NULL,
    h02 bigint NOT NULL,
    h03 bigint NOT NULL,
    h04 bigint NOT NULL,
    h05 bigint NOT NULL,
    h06 bigint NOT NULL,
    h07 bigint NOT NULL,
    h08 bigint NOT NULL,
    h09 bigint NOT NULL,
    h10 bigint NOT NULL,
    h11 bigint NOT NULL,
    h12 bigint NOT NULL,
    h13 bigint NOT NULL,
    h14 bigint NOT NULL,
    h15 bigint NOT NULL,
    h16 bigint NOT NULL,
    h17 bigint NOT NULL,
    h18 bigint NOT NULL,
    h19 bigint NOT NULL
);


--
-- Name: usage_hour_keys; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.usage_hour_keys (
    account text NOT NULL COLLATE pg_catalog."C",
    at bigint NOT NULL,
    key_id text NOT NULL COLLATE pg_catalog."C",
    network text NOT NULL COLLATE pg_catalog."C",
    method text NOT NULL COLLATE pg_catalog."C",
    outcome text NOT NULL COLLATE pg_catalog."C",
    requests bigint NOT NULL,
    credits bigint NOT NULL,
    bytes_in bigint NOT NULL,
    bytes_out bigint NOT NULL,
    h00 bigint NOT NULL,
    h01 bigint NOT NULL,
    h02 bigint NOT NULL,
    h03 bigint NOT NULL,
    h04 bigint NOT NULL,
    h05 bigint NOT NULL,
    h06 bigint NOT NULL,
    h07 bigint NOT NULL,
    h08 bigint NOT NULL,
    h09 bigint NOT NULL,
    h10 bigint NOT NULL,
    h11 bigint NOT NULL,
    h12 bigint NOT NULL,
    h13 bigint NOT NULL,
    h14 bigint NOT NULL,
    h15 bigint NOT NULL,
    h16 bigint NOT NULL,
    h17 bigint NOT NULL,
    h18 bigint NOT NULL,
    h19 bigint NOT NULL
);


--
-- Name: usage_minute; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.usage_minute (
    account text NOT NULL COLLATE pg_catalog."C",
    at bigint NOT NULL,
    key_id text NOT NULL COLLATE pg_catalog."C",
    network text NOT NULL COLLATE pg_catalog."C",
    method text NOT NULL COLLATE pg_catalog."C",
    outcome text NOT NULL COLLATE pg_catalog."C",
    requests bigint NOT NULL,
    credits bigint NOT NULL,
    bytes_in bigint NOT NULL,
    bytes_out bigint NOT NULL,
    h00 bigint NOT NULL,
    h01 bigint NOT NULL,
    h02 bigint NOT NULL,
    h03 bigint NOT NULL,
    h04 bigint NOT NULL,
    h05 bigint NOT NULL,
    h06 bigint NOT NULL,
    h07 bigint NOT NULL,
    h08 bigint NOT NULL,
    h09 bigint NOT NULL,
    h10 bigint NOT NULL,
    h11 bigint NOT NULL,
    h12 bigint NOT NULL,
    h13 bigint NOT NULL,
    h14 bigint NOT NULL,
    h15 bigint NOT NULL,
    h16 bigint NOT NULL,
    h17 bigint NOT NULL,
    h18 bigint NOT NULL,
    h19 bigint NOT NULL
);


--
-- Name: usage_minute_all; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.usage_minute_all (
    account text NOT NULL COLLATE pg_catalog."C",
    at bigint NOT NULL,
    key_id text NOT NULL COLLATE pg_catalog."C",
    network text NOT NULL COLLATE pg_catalog."C",
    method text NOT NULL COLLATE pg_catalog."C",
    outcome text NOT NULL COLLATE pg_catalog."C",
    requests bigint NOT NULL,
    credits bigint NOT NULL,
    bytes_in bigint NOT NULL,
    bytes_out bigint NOT NULL,
    h00 bigint NOT NULL,
    h01 bigint NOT NULL,
    h02 bigint NOT NULL,
    h03 bigint NOT NULL,
    h04 bigint NOT NULL,
    h05 bigint NOT NULL,
    h06 bigint NOT NULL,
    h07 bigint NOT NULL,
    h08 bigint NOT NULL,
    h09 bigint NOT NULL,
    h10 bigint NOT NULL,
    h11 bigint NOT NULL,
    h12 bigint NOT NULL,
    h13 bigint NOT NULL,
    h14 bigint NOT NULL,
    h15 bigint NOT NULL,
    h16 bigint NOT NULL,
    h17 bigint NOT NULL,
    h18 bigint NOT NULL,
    h19 bigint NOT NULL
);


--
-- Name: usage_minute_keys; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.usage_minute_keys (
    account text NOT NULL COLLATE pg_catalog."C",
    at bigint NOT NULL,
    key_id text NOT NULL COLLATE pg_catalog."C",
    network text NOT NULL COLLATE pg_catalog."C",
    method text NOT NULL COLLATE pg_catalog."C",
    outcome text NOT NULL COLLATE pg_catalog."C",
    requests bigint NOT NULL,
    credits bigint NOT NULL,
    bytes_in bigint NOT NULL,
    bytes_out bigint NOT NULL,
    h00 bigint NOT NULL,
    h01 bigint NOT NULL,
    h02 bigint NOT NULL,
    h03 bigint NOT NULL,
    h04 bigint NOT NULL,
    h05 bigint NOT NULL,
    h06 bigint NOT NULL,
    h07 bigint NOT NULL,
    h08 bigint NOT NULL,
    h09 bigint NOT NULL,
    h10 bigint NOT NULL,
    h11 bigint NOT NULL,
    h12 bigint NOT NULL,
    h13 bigint NOT NULL,
    h14 bigint NOT NULL,
    h15 bigint NOT NULL,
    h16 bigint NOT NULL,
    h17 bigint NOT NULL,
    h18 bigint NOT NULL,
    h19 bigint NOT NULL
);


--
-- Name: usage_writers; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.usage_writers (
    server text NOT NULL COLLATE pg_catalog."C",
    number bigint NOT NULL,
    at bigint NOT NULL
);


--
-- Data for Name: accounts; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.accounts VALUES ('a-56d72f7825192343202f', 'dev@localhost', '$argon2id$v=19$m=19456,t=2,p=1$/+09SIGSEIF+gmgiRzVevg$SjuhRmVVOPhDaE+npp4ZXtaCfmXWWCP2ggYYiQcHfKM', 'unlimited', true, 'visa', '4242', 12, 2036, 'test', 'test_card_UXCTX3VYQIVVXPEB2YIEDHNDDS', 1794774584842359, 2);
INSERT INTO public.accounts VALUES ('a-cefcd7bccaec47e1dca9', 'other@example.com', '$argon2id$v=19$m=19456,t=2,p=1$ms0/2FA8sJNSbN84iyu5Cg$vGKnTD4LhDhbRzTYuN1CSM97WKRTdadvuyW8jf4TQQw', 'free', false, NULL, NULL, NULL, NULL, NULL, NULL, 1794774585297734, 1);


--
-- Data for Name: alerts; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: audit; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.audit VALUES (1, 1794774584900938, 'server', 'first start', 'account.create', 'a-56d72f7825192343202f', 'a-56d72f7825192343202f', 'plan unlimited', '\x77c9a38440828a3b439dc9d3ddd1d8c97051103fd4882e92173b9298f306f76f');
INSERT INTO public.audit VALUES (2, 1794774584908454, 'server', 'first start', 'card.put', 'a-56d72f7825192343202f', 'a-56d72f7825192343202f', 'visa 4242', '\x4cea496937cced6c57088587e32f0838a356ae6b842d63892018da5200a7c73d');
INSERT INTO public.audit VALUES (3, 1794774584909638, 'server', 'first start', 'key.create', 'a-56d72f7825192343202f', 'k-53b044b0c3e58e4a3de3', 'first key', '\x782df678239c8ad90d515931b1ec40c826d16ffca734d3a39df3c4b8e7cfc24d');
INSERT INTO public.audit VALUES (4, 1794774585354303, 'command line', 'root', 'account.create', 'a-cefcd7bccaec47e1dca9', 'a-cefcd7bccaec47e1dca9', 'plan free', '\x69a488f9f093566fc9c894d70e3a93f2cbc0054b1e1ed36584ab057ca6c87ed6');
INSERT INTO public.audit VALUES (5, 1794774585388892, 'command line', 'root', 'key.create', 'a-cefcd7bccaec47e1dca9', 'k-99feddbe1749ad70ae51', '', '\xbf0fb91fd1c5e5024991b79ef8e723ad353bbc5f4b69b00fd0a7e6b5056caf80');
INSERT INTO public.audit VALUES (6, 1794774585426107, 'command line', 'root', 'key.create', 'a-cefcd7bccaec47e1dca9', 'k-812a547be7d20d7272cd', '', '\x0f6315555478f9062e476ca8c9b5c0f6881db25192a2e9fd590ed2e61be77b93');
INSERT INTO public.audit VALUES (7, 1794774585458274, 'command line', 'root', 'key.create', 'a-cefcd7bccaec47e1dca9', 'k-77436d6316cdc90fff60', '', '\x104c3e9e9b5a5874844200a0f1342f02df79933a79878e8bfa654640be76e5a6');
INSERT INTO public.audit VALUES (8, 1794774585501648, 'command line', 'root', 'key.revoke', 'a-cefcd7bccaec47e1dca9', 'k-77436d6316cdc90fff60', '', '\xb44ce8136275ab055cab002760fafa79a8028fae95be4027458a583d597669be');


--
-- Data for Name: changes; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.changes VALUES (1, 'a-56d72f7825192343202f', '');
INSERT INTO public.changes VALUES (2, 'a-56d72f7825192343202f', '');
INSERT INTO public.changes VALUES (3, 'a-56d72f7825192343202f', 'k-53b044b0c3e58e4a3de3');
INSERT INTO public.changes VALUES (4, 'a-cefcd7bccaec47e1dca9', '');
INSERT INTO public.changes VALUES (5, 'a-cefcd7bccaec47e1dca9', 'k-99feddbe1749ad70ae51');
INSERT INTO public.changes VALUES (6, 'a-cefcd7bccaec47e1dca9', 'k-812a547be7d20d7272cd');
INSERT INTO public.changes VALUES (7, 'a-cefcd7bccaec47e1dca9', 'k-77436d6316cdc90fff60');
INSERT INTO public.changes VALUES (8, 'a-cefcd7bccaec47e1dca9', 'k-77436d6316cdc90fff60');


--
-- Data for Name: key_secrets; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.key_secrets VALUES ('k-53b044b0c3e58e4a3de3', 0, '\x636e4cf540839903192e8db3199ea7413a888191c59662e4ebd6d8259d898696', NULL);
INSERT INTO public.key_secrets VALUES ('k-99feddbe1749ad70ae51', 0, '\xcc58c7d96fc8c29f70cb37088f4efa6493e5c03da15ce6cb3b2f86e4e00ec6c2', NULL);
INSERT INTO public.key_secrets VALUES ('k-812a547be7d20d7272cd', 0, '\x5e1398148e47994b2b751e49d33752d131c6b702fd390f3e5b746c38e239269a', NULL);
INSERT INTO public.key_secrets VALUES ('k-77436d6316cdc90fff60', 0, '\x6a5347544fc2e1a92baf05f2ada6e07df5afe33276ab87f502e645ce06b89794', NULL);


--
-- Data for Name: key_values; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.key_values VALUES ('k-53b044b0c3e58e4a3de3', 0, '\x7d006f9dfd5f49d050ce4508861bebe9e3434407d97885b2fd37ca911d102279', '\xfee54787cadf5bf86a19c9d8d94c7dba5de5bc1573935c0ef2b5dbcb4a6fdd59debd117db48faa0257ed303597f4171b556d0cc7fff2fdf21877b016', '4fb7', NULL);
INSERT INTO public.key_values VALUES ('k-99feddbe1749ad70ae51', 0, '\x18efb3da5b9bc2bdb455d840aa1b470dfd7f385d841b3f7c989022f97a561e4e', '\x6d28ec1772c4927b134674d080d053b404a96bc1dea578046d2461b9617c5d3711a46d1c47940609873615d77950a43276637a867ed352e94246cc31', 'f6d5', NULL);
INSERT INTO public.key_values VALUES ('k-812a547be7d20d7272cd', 0, '\xb577286b0710887f9d7515b229e7629fc4005d0676a2cd2d1ebc1cd6320f14b2', '\x7d1fd85b10350079996971bc497f63bfbf86e1661391b1677cc94c735c30c6dd6b737751d5cea1952edf4b12171ff4a6017612a55eac2cc5704580f7', '64be', NULL);
INSERT INTO public.key_values VALUES ('k-77436d6316cdc90fff60', 0, '\x06b8960ab8d3aafbe3ee84b26fadd09d52be7ea4d9aea2570e3c7546c285ef6b', NULL, 'b2fe', NULL);


--
-- Data for Name: keys; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.keys VALUES ('k-53b044b0c3e58e4a3de3', 'a-56d72f7825192343202f', 'first key', '{}', 1794774584909615, NULL, 1);
INSERT INTO public.keys VALUES ('k-99feddbe1749ad70ae51', 'a-cefcd7bccaec47e1dca9', '', '{}', 1794774585388867, NULL, 1);
INSERT INTO public.keys VALUES ('k-812a547be7d20d7272cd', 'a-cefcd7bccaec47e1dca9', '', '{}', 1794774585426085, NULL, 1);
INSERT INTO public.keys VALUES ('k-77436d6316cdc90fff60', 'a-cefcd7bccaec47e1dca9', '', '{}', 1794774585458253, 1794774585501646, 2);


--
-- Data for Name: meta; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.meta VALUES ('pepper', '0330ef8a3da0d2372e1c0aecbd467fc3');
INSERT INTO public.meta VALUES ('storage.blocks', 'DL4KQD5MARIU5NELQNC5VH6T2X');


--
-- Data for Name: migrations; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.migrations VALUES (1, 1794774584786119);
INSERT INTO public.migrations VALUES (2, 1794774584789496);
INSERT INTO public.migrations VALUES (3, 1794774584803575);
INSERT INTO public.migrations VALUES (4, 1794774584815137);
INSERT INTO public.migrations VALUES (5, 1794774584835219);
INSERT INTO public.migrations VALUES (6, 1794774584839768);


--
-- Data for Name: moved_bytes; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.moved_bytes VALUES ('a-56d72f7825192343202f', 1793491200000000, 521901);


--
-- Data for Name: pin_claims; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: pin_content; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: pin_loose; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: pin_usage; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: pins; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: sequences; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.sequences VALUES (1, 8, 8);


--
-- Data for Name: sessions; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: stored_bytes; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.stored_bytes VALUES ('a-56d72f7825192343202f', 0);


--
-- Data for Name: usage_day; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.usage_day VALUES ('a-56d72f7825192343202f', 1794700800000000, 'k-53b044b0c3e58e4a3de3', 'devnet', 'eth_getBalance', 'ok', 1, 80, 115, 42, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.usage_day VALUES ('a-56d72f7825192343202f', 1794700800000000, 'k-53b044b0c3e58e4a3de3', 'devnet', 'eth_getBlockByNumber', 'ok', 1, 80, 82, 1830, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.usage_day VALUES ('a-56d72f7825192343202f', 1794700800000000, 'k-53b044b0c3e58e4a3de3', 'devnet', 'eth_getTransactionCount', 'ok', 5, 400, 625, 195, 0, 0, 1, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.usage_day VALUES ('a-56d72f7825192343202f', 1794700800000000, 'k-53b044b0c3e58e4a3de3', 'devnet', 'eth_getTransactionReceipt', 'ok', 10, 800, 1410, 5295, 0, 0, 5, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.usage_day VALUES ('a-56d72f7825192343202f', 1794700800000000, 'k-53b044b0c3e58e4a3de3', 'devnet', 'eth_sendRawTransaction', 'ok', 5, 400, 1510, 510, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.usage_day VALUES ('a-56d72f7825192343202f', 1794700800000000, 'k-53b044b0c3e58e4a3de3', 'rollup', 'eth_getBalance', 'ok', 1, 80, 115, 42, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.usage_day VALUES ('a-56d72f7825192343202f', 1794700800000000, 'k-53b044b0c3e58e4a3de3', 'rollup', 'eth_getBlockByNumber', 'ok', 1, 80, 82, 1860, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.usage_day VALUES ('a-56d72f7825192343202f', 1794700800000000, 'k-53b044b0c3e58e4a3de3', 'rollup', 'eth_getTransactionCount', 'ok', 5, 400, 625, 195, 0, 0, 3, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.usage_day VALUES ('a-56d72f7825192343202f', 1794700800000000, 'k-53b044b0c3e58e4a3de3', 'rollup', 'eth_getTransactionReceipt', 'ok', 10, 800, 1410, 5300, 0, 0, 5, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.usage_day VALUES ('a-56d72f7825192343202f', 1794700800000000, 'k-53b044b0c3e58e4a3de3', 'rollup', 'eth_sendRawTransaction', 'ok', 5, 400, 1510, 510, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.usage_day VALUES ('a-56d72f7825192343202f', 1794700800000000, 'k-53b044b0c3e58e4a3de3', 'storage', 'add', 'ok', 3, 0, 521629, 272, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);


--
-- Data for Name: usage_day_all; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.usage_day_all VALUES ('a-56d72f7825192343202f', 1794700800000000, '', 'devnet', 'eth_getBalance', 'ok', 1, 80, 115, 42, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.usage_day_all VALUES ('a-56d72f7825192343202f', 1794700800000000, '', 'devnet', 'eth_getBlockByNumber', 'ok', 1, 80, 82, 1830, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.usage_day_all VALUES ('a-56d72f7825192343202f', 1794700800000000, '', 'devnet', 'eth_getTransactionCount', 'ok', 5, 400, 625, 195, 0, 0, 1, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.usage_day_all VALUES ('a-56d72f7825192343202f', 1794700800000000, '', 'devnet', 'eth_getTransactionReceipt', 'ok', 10, 800, 1410, 5295, 0, 0, 5, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.usage_day_all VALUES ('a-56d72f7825192343202f', 1794700800000000, '', 'devnet', 'eth_sendRawTransaction', 'ok', 5, 400, 1510, 510, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.usage_day_all VALUES ('a-56d72f7825192343202f', 1794700800000000, '', 'rollup', 'eth_getBalance', 'ok', 1, 80, 115, 42, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.usage_day_all VALUES ('a-56d72f7825192343202f', 1794700800000000, '', 'rollup', 'eth_getBlockByNumber', 'ok', 1, 80, 82, 1860, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.usage_day_all VALUES ('a-56d72f7825192343202f', 1794700800000000, '', 'rollup', 'eth_getTransactionCount', 'ok', 5, 400, 625, 195, 0, 0, 3, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.usage_day_all VALUES ('a-56d72f7825192343202f', 1794700800000000, '', 'rollup', 'eth_getTransactionReceipt', 'ok', 10, 800, 1410, 5300, 0, 0, 5, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.usage_day_all VALUES ('a-56d72f7825192343202f', 1794700800000000, '', 'rollup', 'eth_sendRawTransaction', 'ok', 5, 400, 1510, 510, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.usage_day_all VALUES ('a-56d72f7825192343202f', 1794700800000000, '', 'storage', 'add', 'ok', 3, 0, 521629, 272, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);


--
-- Data for Name: usage_day_keys; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.usage_day_keys VALUES ('a-56d72f7825192343202f', 1794700800000000, 'k-53b044b0c3e58e4a3de3', 'devnet', '', 'ok', 22, 1760, 3742, 7872, 0, 0, 6, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.usage_day_keys VALUES ('a-56d72f7825192343202f', 1794700800000000, 'k-53b044b0c3e58e4a3de3', 'rollup', '', 'ok', 22, 1760, 3742, 7907, 0, 0, 9, 13, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.usage_day_keys VALUES ('a-56d72f7825192343202f', 1794700800000000, 'k-53b044b0c3e58e4a3de3', 'storage', '', 'ok', 3, 0, 521629, 272, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);


--
-- Data for Name: usage_hour; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.usage_hour VALUES ('a-56d72f7825192343202f', 1794772800000000, 'k-53b044b0c3e58e4a3de3', 'devnet', 'eth_getBalance', 'ok', 1, 80, 115, 42, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.usage_hour VALUES ('a-56d72f7825192343202f', 1794772800000000, 'k-53b044b0c3e58e4a3de3', 'devnet', 'eth_getBlockByNumber', 'ok', 1, 80, 82, 1830, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.usage_hour VALUES ('a-56d72f7825192343202f', 1794772800000000, 'k-53b044b0c3e58e4a3de3', 'devnet', 'eth_getTransactionCount', 'ok', 5, 400, 625, 195, 0, 0, 1, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.usage_hour VALUES ('a-56d72f7825192343202f', 1794772800000000, 'k-53b044b0c3e58e4a3de3', 'devnet', 'eth_getTransactionReceipt', 'ok', 10, 800, 1410, 5295, 0, 0, 5, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.usage_hour VALUES ('a-56d72f7825192343202f', 1794772800000000, 'k-53b044b0c3e58e4a3de3', 'devnet', 'eth_sendRawTransaction', 'ok', 5, 400, 1510, 510, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.usage_hour VALUES ('a-56d72f7825192343202f', 1794772800000000, 'k-53b044b0c3e58e4a3de3', 'rollup', 'eth_getBalance', 'ok', 1, 80, 115, 42, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.usage_hour VALUES ('a-56d72f7825192343202f', 1794772800000000, 'k-53b044b0c3e58e4a3de3', 'rollup', 'eth_getBlockByNumber', 'ok', 1, 80, 82, 1860, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.usage_hour VALUES ('a-56d72f7825192343202f', 1794772800000000, 'k-53b044b0c3e58e4a3de3', 'rollup', 'eth_getTransactionCount', 'ok', 5, 400, 625, 195, 0, 0, 3, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.usage_hour VALUES ('a-56d72f7825192343202f', 1794772800000000, 'k-53b044b0c3e58e4a3de3', 'rollup', 'eth_getTransactionReceipt', 'ok', 10, 800, 1410, 5300, 0, 0, 5, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.usage_hour VALUES ('a-56d72f7825192343202f', 1794772800000000, 'k-53b044b0c3e58e4a3de3', 'rollup', 'eth_sendRawTransaction', 'ok', 5, 400, 1510, 510, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.usage_hour VALUES ('a-56d72f7825192343202f', 1794772800000000, 'k-53b044b0c3e58e4a3de3', 'storage', 'add', 'ok', 3, 0, 521629, 272, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);


--
-- Data for Name: usage_hour_all; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.usage_hour_all VALUES ('a-56d72f7825192343202f', 1794772800000000, '', 'devnet', 'eth_getBalance', 'ok', 1, 80, 115, 42, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.usage_hour_all VALUES ('a-56d72f7825192343202f', 1794772800000000, '', 'devnet', 'eth_getBlockByNumber', 'ok', 1, 80, 82, 1830, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.usage_hour_all VALUES ('a-56d72f7825192343202f', 1794772800000000, '', 'devnet', 'eth_getTransactionCount', 'ok', 5, 400, 625, 195, 0, 0, 1, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.usage_hour_all VALUES ('a-56d72f7825192343202f', 1794772800000000, '', 'devnet', 'eth_getTransactionReceipt', 'ok', 10, 800, 1410, 5295, 0, 0, 5, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.usage_hour_all VALUES ('a-56d72f7825192343202f', 1794772800000000, '', 'devnet', 'eth_sendRawTransaction', 'ok', 5, 400, 1510, 510, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.usage_hour_all VALUES ('a-56d72f7825192343202f', 1794772800000000, '', 'rollup', 'eth_getBalance', 'ok', 1, 80, 115, 42, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.usage_hour_all VALUES ('a-56d72f7825192343202f', 1794772800000000, '', 'rollup', 'eth_getBlockByNumber', 'ok', 1, 80, 82, 1860, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.usage_hour_all VALUES ('a-56d72f7825192343202f', 1794772800000000, '', 'rollup', 'eth_getTransactionCount', 'ok', 5, 400, 625, 195, 0, 0, 3, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.usage_hour_all VALUES ('a-56d72f7825192343202f', 1794772800000000, '', 'rollup', 'eth_getTransactionReceipt', 'ok', 10, 800, 1410, 5300, 0, 0, 5, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.usage_hour_all VALUES ('a-56d72f7825192343202f', 1794772800000000, '', 'rollup', 'eth_sendRawTransaction', 'ok', 5, 400, 1510, 510, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.usage_hour_all VALUES ('a-56d72f7825192343202f', 1794772800000000, '', 'storage', 'add', 'ok', 3, 0, 521629, 272, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);


--
-- Data for Name: usage_hour_keys; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.usage_hour_keys VALUES ('a-56d72f7825192343202f', 1794772800000000, 'k-53b044b0c3e58e4a3de3', 'devnet', '', 'ok', 22, 1760, 3742, 7872, 0, 0, 6, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.usage_hour_keys VALUES ('a-56d72f7825192343202f', 1794772800000000, 'k-53b044b0c3e58e4a3de3', 'rollup', '', 'ok', 22, 1760, 3742, 7907, 0, 0, 9, 13, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.usage_hour_keys VALUES ('a-56d72f7825192343202f', 1794772800000000, 'k-53b044b0c3e58e4a3de3', 'storage', '', 'ok', 3, 0, 521629, 272, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);


--
-- Data for Name: usage_minute; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.usage_minute VALUES ('a-56d72f7825192343202f', 1794774540000000, 'k-53b044b0c3e58e4a3de3', 'devnet', 'eth_getBalance', 'ok', 1, 80, 115, 42, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.usage_minute VALUES ('a-56d72f7825192343202f', 1794774540000000, 'k-53b044b0c3e58e4a3de3', 'devnet', 'eth_getBlockByNumber', 'ok', 1, 80, 82, 1830, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.usage_minute VALUES ('a-56d72f7825192343202f', 1794774540000000, 'k-53b044b0c3e58e4a3de3', 'devnet', 'eth_getTransactionCount', 'ok', 5, 400, 625, 195, 0, 0, 1, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.usage_minute VALUES ('a-56d72f7825192343202f', 1794774540000000, 'k-53b044b0c3e58e4a3de3', 'devnet', 'eth_getTransactionReceipt', 'ok', 10, 800, 1410, 5295, 0, 0, 5, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.usage_minute VALUES ('a-56d72f7825192343202f', 1794774540000000, 'k-53b044b0c3e58e4a3de3', 'devnet', 'eth_sendRawTransaction', 'ok', 5, 400, 1510, 510, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.usage_minute VALUES ('a-56d72f7825192343202f', 1794774540000000, 'k-53b044b0c3e58e4a3de3', 'rollup', 'eth_getBalance', 'ok', 1, 80, 115, 42, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.usage_minute VALUES ('a-56d72f7825192343202f', 1794774540000000, 'k-53b044b0c3e58e4a3de3', 'rollup', 'eth_getBlockByNumber', 'ok', 1, 80, 82, 1860, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.usage_minute VALUES ('a-56d72f7825192343202f', 1794774540000000, 'k-53b044b0c3e58e4a3de3', 'rollup', 'eth_getTransactionCount', 'ok', 5, 400, 625, 195, 0, 0, 3, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.usage_minute VALUES ('a-56d72f7825192343202f', 1794774540000000, 'k-53b044b0c3e58e4a3de3', 'rollup', 'eth_getTransactionReceipt', 'ok', 10, 800, 1410, 5300, 0, 0, 5, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.usage_minute VALUES ('a-56d72f7825192343202f', 1794774540000000, 'k-53b044b0c3e58e4a3de3', 'rollup', 'eth_sendRawTransaction', 'ok', 5, 400, 1510, 510, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.usage_minute VALUES ('a-56d72f7825192343202f', 1794774540000000, 'k-53b044b0c3e58e4a3de3', 'storage', 'add', 'ok', 3, 0, 521629, 272, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);


--
-- Data for Name: usage_minute_all; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.usage_minute_all VALUES ('a-56d72f7825192343202f', 1794774540000000, '', 'devnet', 'eth_getBalance', 'ok', 1, 80, 115, 42, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.usage_minute_all VALUES ('a-56d72f7825192343202f', 1794774540000000, '', 'devnet', 'eth_getBlockByNumber', 'ok', 1, 80, 82, 1830, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.usage_minute_all VALUES ('a-56d72f7825192343202f', 1794774540000000, '', 'devnet', 'eth_getTransactionCount', 'ok', 5, 400, 625, 195, 0, 0, 1, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.usage_minute_all VALUES ('a-56d72f7825192343202f', 1794774540000000, '', 'devnet', 'eth_getTransactionReceipt', 'ok', 10, 800, 1410, 5295, 0, 0, 5, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.usage_minute_all VALUES ('a-56d72f7825192343202f', 1794774540000000, '', 'devnet', 'eth_sendRawTransaction', 'ok', 5, 400, 1510, 510, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.usage_minute_all VALUES ('a-56d72f7825192343202f', 1794774540000000, '', 'rollup', 'eth_getBalance', 'ok', 1, 80, 115, 42, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.usage_minute_all VALUES ('a-56d72f7825192343202f', 1794774540000000, '', 'rollup', 'eth_getBlockByNumber', 'ok', 1, 80, 82, 1860, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.usage_minute_all VALUES ('a-56d72f7825192343202f', 1794774540000000, '', 'rollup', 'eth_getTransactionCount', 'ok', 5, 400, 625, 195, 0, 0, 3, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.usage_minute_all VALUES ('a-56d72f7825192343202f', 1794774540000000, '', 'rollup', 'eth_getTransactionReceipt', 'ok', 10, 800, 1410, 5300, 0, 0, 5, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.usage_minute_all VALUES ('a-56d72f7825192343202f', 1794774540000000, '', 'rollup', 'eth_sendRawTransaction', 'ok', 5, 400, 1510, 510, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.usage_minute_all VALUES ('a-56d72f7825192343202f', 1794774540000000, '', 'storage', 'add', 'ok', 3, 0, 521629, 272, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);


--
-- Data for Name: usage_minute_keys; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.usage_minute_keys VALUES ('a-56d72f7825192343202f', 1794774540000000, 'k-53b044b0c3e58e4a3de3', 'devnet', '', 'ok', 22, 1760, 3742, 7872, 0, 0, 6, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.usage_minute_keys VALUES ('a-56d72f7825192343202f', 1794774540000000, 'k-53b044b0c3e58e4a3de3', 'rollup', '', 'ok', 22, 1760, 3742, 7907, 0, 0, 9, 13, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.usage_minute_keys VALUES ('a-56d72f7825192343202f', 1794774540000000, 'k-53b044b0c3e58e4a3de3', 'storage', '', 'ok', 3, 0, 521629, 272, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);


--
-- Data for Name: usage_writers; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.usage_writers VALUES ('RICP2KW54PJTIMMBS6OSS6JXIF', 1, 1794774586067423);


--
-- Name: accounts accounts_email_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.accounts
    ADD CONSTRAINT accounts_email_key UNIQUE (email);


--
-- Name: accounts accounts_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.accounts
    ADD CONSTRAINT accounts_pkey PRIMARY KEY (id);


--
-- Name: alerts alerts_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.alerts
    ADD CONSTRAINT alerts_pkey PRIMARY KEY (account, day, percent);


--
-- Name: audit audit_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.audit
    ADD CONSTRAINT audit_pkey PRIMARY KEY (number);


--
-- Name: changes changes_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.changes
    ADD CONSTRAINT changes_pkey PRIMARY KEY (number);


--
-- Name: key_secrets key_secrets_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.key_secrets
    ADD CONSTRAINT key_secrets_pkey PRIMARY KEY (key_id, "position");


--
-- Name: key_values key_values_digest_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.key_values
    ADD CONSTRAINT key_values_digest_key UNIQUE (digest);


--
-- Name: key_values key_values_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.key_values
    ADD CONSTRAINT key_values_pkey PRIMARY KEY (key_id, "position");


--
-- Name: keys keys_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.keys
    ADD CONSTRAINT keys_pkey PRIMARY KEY (id);


--
-- Name: meta meta_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.meta
    ADD CONSTRAINT meta_pkey PRIMARY KEY (name);


--
-- Name: migrations migrations_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.migrations
    ADD CONSTRAINT migrations_pkey PRIMARY KEY (number);


--
-- Name: moved_bytes moved_bytes_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.moved_bytes
    ADD CONSTRAINT moved_bytes_pkey PRIMARY KEY (account, month);


--
-- Name: pin_claims pin_claims_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.pin_claims
    ADD CONSTRAINT pin_claims_pkey PRIMARY KEY (id, content);


--
-- Name: pin_content pin_content_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.pin_content
    ADD CONSTRAINT pin_content_pkey PRIMARY KEY (content);


--
-- Name: pin_loose pin_loose_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.pin_loose
    ADD CONSTRAINT pin_loose_pkey PRIMARY KEY (id);


--
-- Name: pin_usage pin_usage_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.pin_usage
    ADD CONSTRAINT pin_usage_pkey PRIMARY KEY (account);


--
-- Name: pins pins_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.pins
    ADD CONSTRAINT pins_pkey PRIMARY KEY (account, cid);


--
-- Name: sequences sequences_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.sequences
    ADD CONSTRAINT sequences_pkey PRIMARY KEY (one);


--
-- Name: sessions sessions_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (digest);


--
-- Name: stored_bytes stored_bytes_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.stored_bytes
    ADD CONSTRAINT stored_bytes_pkey PRIMARY KEY (account);


--
-- Name: usage_day_all usage_day_all_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.usage_day_all
    ADD CONSTRAINT usage_day_all_pkey PRIMARY KEY (account, at, key_id, network, method, outcome);


--
-- Name: usage_day_keys usage_day_keys_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.usage_day_keys
    ADD CONSTRAINT usage_day_keys_pkey PRIMARY KEY (account, at, key_id, network, method, outcome);


--
-- Name: usage_day usage_day_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.usage_day
    ADD CONSTRAINT usage_day_pkey PRIMARY KEY (account, at, key_id, network, method, outcome);


--
-- Name: usage_hour_all usage_hour_all_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.usage_hour_all
    ADD CONSTRAINT usage_hour_all_pkey PRIMARY KEY (account, at, key_id, network, method, outcome);


--
-- Name: usage_hour_keys usage_hour_keys_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.usage_hour_keys
    ADD CONSTRAINT usage_hour_keys_pkey PRIMARY KEY (account, at, key_id, network, method, outcome);


--
-- Name: usage_hour usage_hour_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.usage_hour
    ADD CONSTRAINT usage_hour_pkey PRIMARY KEY (account, at, key_id, network, method, outcome);


--
-- Name: usage_minute_all usage_minute_all_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.usage_minute_all
    ADD CONSTRAINT usage_minute_all_pkey PRIMARY KEY (account, at, key_id, network, method, outcome);


--
-- Name: usage_minute_keys usage_minute_keys_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.usage_minute_keys
    ADD CONSTRAINT usage_minute_keys_pkey PRIMARY KEY (account, at, key_id, network, method, outcome);


--
-- Name: usage_minute usage_minute_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.usage_minute
    ADD CONSTRAINT usage_minute_pkey PRIMARY KEY (account, at, key_id, network, method, outcome);


--
-- Name: usage_writers usage_writers_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.usage_writers
    ADD CONSTRAINT usage_writers_pkey PRIMARY KEY (server, number);


--
-- Name: alerts_day; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX alerts_day ON public.alerts USING btree (day);


--
-- Name: audit_account; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX audit_account ON public.audit USING btree (account, number);


--
-- Name: keys_account; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX keys_account ON public.keys USING btree (account);


--
-- Name: pin_claims_at; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX pin_claims_at ON public.pin_claims USING btree (at);


--
-- Name: pin_claims_content; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX pin_claims_content ON public.pin_claims USING btree (content);


--
-- Name: pin_content_freed; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX pin_content_freed ON public.pin_content USING btree (content) WHERE (freed IS NOT NULL);


--
-- Name: pin_loose_at; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX pin_loose_at ON public.pin_loose USING btree (at);


--
-- Name: pins_content; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX pins_content ON public.pins USING btree (content);


--
-- Name: pins_unpinned; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX pins_unpinned ON public.pins USING btree (unpinned) WHERE (unpinned IS NOT NULL);


--
-- Name: sessions_account; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX sessions_account ON public.sessions USING btree (account);


--
-- Name: sessions_expires; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX sessions_expires ON public.sessions USING btree (expires);


--
-- Name: usage_day_at; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX usage_day_at ON public.usage_day USING btree (at);


--
-- Name: usage_hour_all_at; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX usage_hour_all_at ON public.usage_hour_all USING btree (at);


--
-- Name: usage_hour_at; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX usage_hour_at ON public.usage_hour USING btree (at);


--
-- Name: usage_hour_keys_at; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX usage_hour_keys_at ON public.usage_hour_keys USING btree (at);


--
-- Name: usage_minute_all_at; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX usage_minute_all_at ON public.usage_minute_all USING btree (at);


--
-- Name: usage_minute_at; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX usage_minute_at ON public.usage_minute USING btree (at);


--
-- Name: usage_minute_keys_at; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX usage_minute_keys_at ON public.usage_minute_keys USING btree (at);


--
-- Name: usage_writers_at; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX usage_writers_at ON public.usage_writers USING btree (at);


--
-- Name: audit audit_no_change; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER audit_no_change BEFORE DELETE OR UPDATE OR TRUNCATE ON public.audit FOR EACH STATEMENT EXECUTE FUNCTION public.audit_append_only();


--
-- Name: key_secrets key_secrets_key_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.key_secrets
    ADD CONSTRAINT key_secrets_key_id_fkey FOREIGN KEY (key_id) REFERENCES public.keys(id);


--
-- Name: key_values key_values_key_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.key_values
    ADD CONSTRAINT key_values_key_id_fkey FOREIGN KEY (key_id) REFERENCES public.keys(id);


--
-- Name: keys keys_account_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.keys
    ADD CONSTRAINT keys_account_fkey FOREIGN KEY (account) REFERENCES public.accounts(id);


--
-- Name: sessions sessions_account_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_account_fkey FOREIGN KEY (account) REFERENCES public.accounts(id);


--
-- PostgreSQL database dump complete
--

\unrestrict 3WteRYIeZudxIcZ9wWemK6nWLSqdrDxCu0x6fvL62Zekp4b0VMIPQxU4npdm5iO

