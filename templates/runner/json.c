#include "json.h"

#include <math.h>
#include <string.h>

/* The length of the well-formed UTF-8 sequence at `text`, or 0. */
static size_t sequence(const unsigned char *text)
{
    if (text[0] < 0x80)
        return 1;
    size_t length = text[0] >= 0xF0 ? 4 : text[0] >= 0xE0 ? 3 : 2;
    if (text[0] < 0xC2 || text[0] > 0xF4)
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((text[i] & 0xC0) != 0x80)
            return 0;
    bool overlong = (text[0] == 0xE0 && text[1] < 0xA0) || (text[0] == 0xF0 && text[1] < 0x90);
    bool surrogate = text[0] == 0xED && text[1] >= 0xA0;
    bool beyond = text[0] == 0xF4 && text[1] >= 0x90;
    return overlong || surrogate || beyond ? 0 : length;
}

static void quote(FILE *out, const char *value)
{
    const unsigned char *at = (const unsigned char *)value;
    fputc('"', out);
    while (*at) {
        size_t length = sequence(at);
        if (!length) {
            fputs("\\ufffd", out);
            length = 1;
        } else if (*at == '"' || *at == '\\') {
            fprintf(out, "\\%c", *at);
        } else if (*at < 0x20 || *at == 0x7F) {
            fprintf(out, "\\u%04x", *at);
        } else {
            fwrite(at, 1, length, out);
        }
        at += length;
    }
    fputc('"', out);
}

static void before(struct json *json, const char *key)
{
    if (json->filled[json->depth])
        fputc(',', json->out);
    json->filled[json->depth] = true;
    if (json->depth)
        fprintf(json->out, "\n%*s", (int)json->depth, "");
    if (key) {
        quote(json->out, key);
        fputs(": ", json->out);
    }
}

static void open_level(struct json *json, const char *key, char bracket)
{
    before(json, key);
    fputc(bracket, json->out);
    if (json->depth + 1 < JSON_DEPTH)
        json->depth++;
    json->filled[json->depth] = false;
}

static void close_level(struct json *json, char bracket)
{
    bool filled = json->filled[json->depth];
    if (json->depth)
        json->depth--;
    if (filled)
        fprintf(json->out, "\n%*s", (int)json->depth, "");
    fputc(bracket, json->out);
    if (!json->depth)
        fputc('\n', json->out);
}

void json_open_object(struct json *json, const char *key)
{
    open_level(json, key, '{');
}

void json_close_object(struct json *json)
{
    close_level(json, '}');
}

void json_open_array(struct json *json, const char *key)
{
    open_level(json, key, '[');
}

void json_close_array(struct json *json)
{
    close_level(json, ']');
}

void json_string(struct json *json, const char *key, const char *value)
{
    before(json, key);
    if (value)
        quote(json->out, value);
    else
        fputs("null", json->out);
}

void json_number(struct json *json, const char *key, uint64_t value)
{
    before(json, key);
    fprintf(json->out, "%llu", (unsigned long long)value);
}

void json_signed(struct json *json, const char *key, int64_t value)
{
    before(json, key);
    fprintf(json->out, "%lld", (long long)value);
}

void json_real(struct json *json, const char *key, double value)
{
    char text[48];
    before(json, key);
    if (!isfinite(value)) {
        fputs("null", json->out);
        return;
    }
    snprintf(text, sizeof text, "%.9g", value);
    /* A library may have set a locale in which the point is something else, of one byte or more. */
    for (const char *at = text; *at; at++)
        if (strchr("0123456789+-e", *at))
            fputc(*at, json->out);
        else if (at[1] >= '0' && at[1] <= '9')
            fputc('.', json->out);
}

void json_bool(struct json *json, const char *key, bool value)
{
    before(json, key);
    fputs(value ? "true" : "false", json->out);
}
