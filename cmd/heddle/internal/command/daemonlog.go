package command

import (
	"fmt"
	"net/url"
	"strings"

	"heddle/cmd/heddle/internal/cluster"
	"heddle/cmd/heddle/internal/option"
	"heddle/conf"
)

var daemonLog = verb{
	name: "daemonlog", title: "heddle daemonlog",
	short: "Show or change the log level of a running daemon",
	options: func() []option.Option {
		return []option.Option{
			{Name: "getlevel", Arg: "Host:Port [Logger]", Values: 2, Help: "Shows the log level of the daemon at this web address."},
			{Name: "setlevel", Arg: "Host:Port [Logger] Level", Values: 3, Help: "Sets the log level until the next start: trace, debug, info, warn, error or fatal."},
			{Name: "protocol", Arg: "http or https", Help: "Protocol to reach the daemon with; by default http."},
		}
	},
	run: (*session).daemonLog,
}

// ownLogger names the only logger of a Heddle daemon.
const ownLogger = "heddle"

func (s *session) daemonLog(l *option.Line) error {
	get, set := l.Values("getlevel"), l.Values("setlevel")
	query := url.Values{"log": {ownLogger}}
	var addr string
	switch {
	case len(l.Args) > 0 || l.Has("getlevel") == l.Has("setlevel"):
		return s.usage()
	case len(get) > 0:
		addr = get[0]
		if len(get) > 1 {
			query.Set("log", get[1])
		}
	case len(set) < 2:
		return s.usage()
	default:
		addr = set[0]
		query.Set("level", set[len(set)-1])
		if len(set) > 2 {
			query.Set("log", set[1])
		}
	}
	if _, err := conf.ParseAddress(addr, -1); err != nil {
		return fmt.Errorf("%s: %w", addr, err)
	}
	scheme := l.Value("protocol")
	switch scheme {
	case "":
		scheme = "http"
	case "http", "https":
	default:
		return fmt.Errorf("invalid protocol: %s; use http or https", scheme)
	}
	c, err := s.cluster()
	if err != nil {
		return err
	}
	s.print("Connecting to %s\n", (&url.URL{Scheme: scheme, Host: addr, Path: "/logLevel", RawQuery: query.Encode()}).String())
	a, err := c.At(s, addr, cluster.Request{Scheme: scheme, Path: "/logLevel", Query: query})
	if err != nil {
		return err
	}
	const marker = "<!-- OUTPUT -->"
	for line := range strings.Lines(string(a.Body)) {
		if _, text, ok := strings.Cut(strings.TrimRight(line, "\r\n"), marker); ok {
			text = withoutTags(text)
			s.print("%s\n", text)
			if strings.HasPrefix(text, "Log Class: *logrus.") && query.Has("level") {
				fmt.Fprintln(s.err, "A daemon of Heddle has one logger: the level is that of all its classes.")
			}
		}
	}
	return nil
}

// withoutTags removes HTML's tags from a text.
func withoutTags(text string) string {
	var b strings.Builder
	for text != "" {
		before, rest, ok := strings.Cut(text, "<")
		b.WriteString(before)
		if !ok {
			break
		}
		_, text, _ = strings.Cut(rest, ">")
	}
	return b.String()
}
