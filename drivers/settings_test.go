package drivers_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net/url"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/drivers"
)

// TestHide: a password that an error repeats is hidden, also as URLs, JSON, Go, HTML and base64 escape it. An
// error without it stays as it is.
func TestHide(t *testing.T) {
	const password = `S3c"r\t#/é%41<&>+ 2`
	l := &drivers.Login{User: "me", Password: password}
	inJSON, err := json.Marshal(password)
	if err != nil {
		t.Fatal(err)
	}
	var percent strings.Builder
	for _, b := range []byte(password) {
		fmt.Fprintf(&percent, "%%%02x", b)
	}
	for name, repeated := range map[string]string{
		"as it is":       password,
		"Go":             fmt.Sprintf("%q", password),
		"Go, ASCII":      fmt.Sprintf("%+q", password),
		"JSON":           string(inJSON),
		"query":          url.QueryEscape(password),
		"path":           url.PathEscape(password),
		"all in percent": percent.String(),
		"HTML":           html.EscapeString(password),
		"base64":         base64.StdEncoding.EncodeToString([]byte(password)),
		"login":          base64.URLEncoding.EncodeToString([]byte("me:" + password)),
		"login in a URL": url.QueryEscape(base64.StdEncoding.EncodeToString([]byte("me:" + password))),
		"SASL":           fmt.Sprintf("%q", "\x00me\x00"+password),
		"token":          url.PathEscape("t/ok en"),
	} {
		cause := errors.New("50% of the login, " + repeated + ", were refused")
		hidden := l.Hide(cause, "t/ok en")
		for _, one := range []string{repeated, strings.Trim(repeated, `"=`), password} {
			if strings.Contains(hidden.Error(), one) {
				t.Errorf("%s: %v", name, hidden)
			}
		}
		if !strings.HasPrefix(hidden.Error(), "50% of the login, ") || !strings.Contains(hidden.Error(), "…") ||
			!strings.HasSuffix(hidden.Error(), ", were refused") || !errors.Is(hidden, cause) {
			t.Errorf("%s: %v", name, hidden)
		}
	}
	other := errors.New(`no table "a\tb", 100%25`)
	if got := l.Hide(other); got != other {
		t.Errorf("another error: %v", got)
	}
}
