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
)

// Configuration is what /conf shows, as conf.Config does. The writers show one key, or all for "".
type Configuration interface {
	WriteXML(w io.Writer, key string) error
	WriteJSON(w io.Writer, key string) error
}

// Conf serves /conf. The Accept header asks for XML or JSON, and ?name= for one key.
func Conf(c Configuration) http.Handler {
	return get(func(w http.ResponseWriter, r *http.Request) {
		write, kind := c.WriteXML, "text/xml;charset=utf-8"
		// Like Hadoop, which doesn't weigh what else there is.
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

// Stacks serves /stacks: what all goroutines are doing.
func Stacks() http.Handler {
	return get(func(w http.ResponseWriter, _ *http.Request) {
		for size := 1 << 18; ; size *= 2 {
			b := make([]byte, size)
			if n := runtime.Stack(b, true); n < size {
				answer(w, http.StatusOK, rest.TextType, b[:n])
				return
			}
		}
	})
}

// LogLevel serves /logLevel: it shows the level of the logger, and changes it with ?level=. There is one logger, whichever
// Java class ?log= names. mayChange decides who may change it; nil is everybody.
func LogLevel(logger *logrus.Logger, mayChange func(*http.Request) error) http.Handler {
	return get(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		var b strings.Builder
		if name := q.Get("log"); name != "" {
			fmt.Fprintf(&b, "<h2>Results</h2>\n<p>Submitted Class Name: <b>%s</b></p>\n<p>Log Class: <b>%T</b></p>\n", html.EscapeString(name), logger)
			if level := q.Get("level"); level != "" {
				if mayChange != nil {
					if err := mayChange(r); err != nil {
						rest.ErrorPage(w, r, http.StatusForbidden, err.Error())
						return
					}
				}
				fmt.Fprintf(&b, "<p>Submitted Level: <b>%s</b></p>\n", html.EscapeString(level))
				b.WriteString(setLevel(logger, level))
			}
			fmt.Fprintf(&b, "<p>Effective Level: <b>%s</b></p>\n", strings.ToUpper(logger.GetLevel().String()))
		}
		b.WriteString("<form>Log: <input type=\"text\" name=\"log\"> Level: <input type=\"text\" name=\"level\"> <input type=\"submit\" value=\"Set\"></form>")
		rest.Page(w, http.StatusOK, "Log Level", b.String())
	})
}

func setLevel(logger *logrus.Logger, level string) string {
	l, err := logrus.ParseLevel(level)
	if err != nil {
		return "<p>Bad Level : <b>" + html.EscapeString(level) + "</b></p>\n"
	}
	logger.SetLevel(l)
	return "<p>Setting Level to " + strings.ToUpper(l.String()) + " ...</p>\n"
}
