package rest

import (
	"mime"
	"strconv"
	"strings"
)

// Content types of answers, as YARN writes them.
const (
	JSONType = "application/json;charset=utf-8"
	XMLType  = "application/xml; charset=utf-8"
	TextType = "text/plain;charset=utf-8"
	HTMLType = "text/html;charset=utf-8"
	WADLType = "application/vnd.sun.wadl+xml"

	EventStreamType = "text/event-stream"
	CSVType         = "text/csv;charset=utf-8"
)

// Format is the format of an answer.
type Format uint8

// Formats of answers.
const (
	JSON Format = iota
	XML
	Text
	HTML
	WADL // a description of paths and methods
	EventStream
	CSV // a table (RFC 4180)
)

var mediaTypes = [...]string{
	JSON: "application/json", XML: "application/xml", Text: "text/plain", HTML: "text/html",
	WADL: "application/vnd.sun.wadl+xml", EventStream: EventStreamType, CSV: "text/csv",
}

// ContentType returns the value of the header.
func (f Format) ContentType() string {
	return [...]string{
		JSON: JSONType, XML: XMLType, Text: TextType, HTML: HTMLType, WADL: WADLType,
		EventStream: EventStreamType, CSV: CSVType,
	}[f]
}

// Negotiate picks the format that a client prefers: by the quality it gives each, then by its own order. Of the formats
// that a wildcard matches, and without a header, it picks the first offered one. ok is false if none will do.
func Negotiate(accept []string, offered ...Format) (f Format, ok bool) {
	if len(accept) == 0 {
		return offered[0], true
	}
	best := 0.0
	wild := true
	for _, header := range accept {
		for part := range strings.SplitSeq(header, ",") {
			media, q := mediaRange(part)
			isWild := strings.Contains(media, "*")
			if q <= 0 || q < best || q == best && (!wild || isWild) {
				continue
			}
			for _, o := range offered {
				if admits(media, mediaTypes[o]) {
					f, best, wild, ok = o, q, isWild, true
					break
				}
			}
		}
	}
	return f, ok
}

// mediaRange parses one part of an Accept header. A malformed part has quality 0.
func mediaRange(part string) (media string, q float64) {
	media, params, err := mime.ParseMediaType(part)
	if err != nil {
		return "", 0
	}
	if media == "*" {
		media = "*/*"
	}
	text, given := params["q"]
	if !given {
		return media, 1
	}
	if q, err = strconv.ParseFloat(text, 64); err != nil || !(q <= 1) { // NaN fails, too
		return media, 0
	}
	return media, q
}

func admits(pattern, media string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "/*"); ok {
		return prefix == "*" || strings.HasPrefix(media, prefix+"/")
	}
	return pattern == media
}
