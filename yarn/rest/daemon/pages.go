package daemon

import (
	"bytes"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"runtime"
	"strings"

	"github.com/sirupsen/logrus"

	"heddle/conf"
	"heddle/yarn/rest"
	"heddle/yarn/rest/auth"
)

// Configuration is the configuration that /conf shows, such as a conf.Config. The writers write one key, or all keys
// for "".
type Configuration interface {
	WriteXML(w io.Writer, key string) error
	WriteJSON(w io.Writer, key string) error
}

// Conf serves /conf. The Accept header chooses XML or JSON; ?name= chooses one key.
func Conf(c Configuration) http.Handler {
	return Get(func(w http.ResponseWriter, r *http.Request) {
		write, kind := c.WriteXML, "text/xml;charset=utf-8"
		// As in Hadoop, other types and their qualities don't count.
		if strings.Contains(r.Header.Get("Accept"), "application/json") {
			write, kind = c.WriteJSON, rest.JSONType
		}
		var b bytes.Buffer
		err := write(&b, r.URL.Query().Get("name"))
		switch unknown := (conf.ErrNoSuchKey{}); {
		case errors.As(err, &unknown):
			answer(w, http.StatusNotFound, kind, nil)
		case err != nil:
			rest.ErrorPage(w, r, http.StatusInternalServerError, err.Error())
		default:
			answer(w, http.StatusOK, kind, b.Bytes())
		}
	})
}

// Stacks serves /stacks, the stacks of all goroutines.
func Stacks() http.Handler {
	return Get(func(w http.ResponseWriter, _ *http.Request) {
		for size := 1 << 18; ; size *= 2 {
			b := make([]byte, size)
			if n := runtime.Stack(b, true); n < size {
				answer(w, http.StatusOK, rest.TextType, b[:n])
				return
			}
		}
	})
}

// LogLevel serves /logLevel: it shows the level of the logger, and changes it with ?level=. There is only one logger,
// for every Java class in ?log=. mayAdminister refuses callers who aren't administrators; nil allows all. As in
// Hadoop the page is for administrators alone where Kerberos tells who calls, and changes are everywhere. "yarn daemonlog" prints the lines that are marked as output.
func LogLevel(logger *logrus.Logger, mayAdminister func(*http.Request) error) http.Handler {
	return Get(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		change := q.Get("log") != "" && q.Get("level") != ""
		if mayAdminister != nil && (change || auth.From(r.Context()).Full != "") {
			if err := mayAdminister(r); err != nil {
				rest.ErrorPage(w, r, http.StatusForbidden, err.Error())
				return
			}
		}
		var b strings.Builder
		if name := q.Get("log"); name != "" {
			b.WriteString("<h3>Results</h3>\n")
			result(&b, "Submitted Class Name: <b>%s</b>", html.EscapeString(name))
			result(&b, "Log Class: <b>%T</b>", logger)
			if level := q.Get("level"); level != "" {
				if !rest.MayChange(r) {
					rest.UnaskedChange(w, r)
					return
				}
				result(&b, "Submitted Level: <b>%s</b>", html.EscapeString(level))
				result(&b, "%s", setLevel(logger, level))
			}
			result(&b, "Effective Level: <b>%s</b>", strings.ToUpper(logger.GetLevel().String()))
		}
		b.WriteString("<form>Log: <input type=\"text\" name=\"log\"> Level: <input type=\"text\" name=\"level\"> <input type=\"submit\" value=\"Set\"></form>")
		rest.Page(w, http.StatusOK, "Log Level", b.String())
	})
}

// result writes a line of HTML with the marker that LogLevel.CLI looks for. The CLI prints it without marker and tags.
func result(b *strings.Builder, format string, args ...any) {
	fmt.Fprintf(b, "<!-- OUTPUT -->"+format+"<br />\n", args...)
}

// setLevel sets the level, and returns the result as HTML.
func setLevel(logger *logrus.Logger, level string) string {
	l, err := logrus.ParseLevel(level)
	if err != nil {
		return "Bad Level : <b>" + html.EscapeString(level) + "</b>"
	}
	logger.SetLevel(l)
	return "Setting Level to " + strings.ToUpper(l.String()) + " ..."
}
