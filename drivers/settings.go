package drivers

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"html"
	"maps"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mailbench/mailbench/schemas/plainfile"
	"github.com/mailbench/mailbench/schemas/strict"
)

// Setting describes one driver setting.
type Setting struct {
	Name    string `json:"name"`
	Default string `json:"default,omitempty"` // the text of the default value; "" is no default
	Doc     string `json:"description"`       // one line, with the unit or the words it takes
	// Guarded: it says where a password goes, or who is trusted with it.
	Guarded bool `json:"-"`
	// Check says what is wrong with a value; nil: it is any text.
	Check func(value string) error `json:"-"`
}

// CheckSetting says what is wrong with the value of one setting of the engine.
func (e Engine) CheckSetting(name, value string) error {
	return ReadSettings(e.Settings, map[string]string{name: value}).Err()
}

// Settings are the values of an engine's settings. Its methods parse them; Err has what was wrong.
type Settings struct {
	values map[string]string
	errs   []error
}

// ReadSettings lays the given values over the defaults.
func ReadSettings(list []Setting, given map[string]string) *Settings {
	s := &Settings{values: map[string]string{}}
	for _, setting := range list {
		s.values[setting.Name] = setting.Default
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		at := slices.IndexFunc(list, func(known Setting) bool { return known.Name == name })
		if at < 0 {
			s.errs = append(s.errs, fmt.Errorf("unknown setting %q; expected one of %s", name,
				strings.Join(slices.Sorted(maps.Keys(s.values)), ", ")))
			continue
		}
		s.values[name] = given[name]
		if check := list[at].Check; check != nil {
			if err := check(given[name]); err != nil {
				s.errs = append(s.errs, fmt.Errorf("setting %s: %w", name, err))
			}
		}
	}
	return s
}

// Err is all that was wrong, as an ErrOption; nil if nothing was.
func (s *Settings) Err() error { return WrongOption(errors.Join(s.errs...)) }

// Texts are all values as text.
func (s *Settings) Texts() map[string]string { return s.values }

// Text is a value as it was given.
func (s *Settings) Text(name string) string { return s.values[name] }

// Number is a value that NumberFrom checks.
func (s *Settings) Number(name string) int {
	v, _ := strconv.Atoi(s.values[name])
	return v
}

// NumberFrom checks that a value is a whole number of at least so many.
func NumberFrom(least int) func(value string) error {
	return atLeast(strconv.Atoi, least, "number of at least %d")
}

// Duration is a value that DurationFrom checks.
func (s *Settings) Duration(name string) time.Duration {
	v, _ := time.ParseDuration(s.values[name])
	return v
}

// DurationFrom checks that a value is a time such as 5s.
func DurationFrom(least time.Duration) func(value string) error {
	return atLeast(time.ParseDuration, least, "duration of at least %v, such as 5s")
}

func atLeast[T cmp.Ordered](parse func(string) (T, error), least T, what string) func(value string) error {
	return func(value string) error {
		if v, err := parse(value); err != nil || v < least {
			return fmt.Errorf("%q is not a "+what, value, least)
		}
		return nil
	}
}

// Word is the meaning of a value that OneOf checks.
func Word[T any](s *Settings, name string, words map[string]T) T {
	return words[strings.ToLower(s.values[name])]
}

// OneOf checks that a value is one of several words, in upper or lower case.
func OneOf(words ...string) func(value string) error {
	return func(value string) error {
		if slices.ContainsFunc(words, func(word string) bool { return strings.EqualFold(word, value) }) {
			return nil
		}
		return fmt.Errorf("%q; expected one of %s%s", value, strings.Join(words, ", "), strict.Suggest(value, words))
	}
}

// Truth checks that a value is true or false.
var Truth = OneOf("true", "false")

// TLS are the settings of encrypted connections: tls, tls_ca, tls_cert, tls_key and tls_server_name.
type TLS struct {
	Encrypted     bool
	CA, Cert, Key string // files
	Server        string // the name in its certificate; "" is the host's
}

// TLS is the settings of encrypted connections. The others mean nothing unless tls is true.
func (s *Settings) TLS() TLS {
	t := TLS{
		Encrypted: strings.EqualFold(s.Text("tls"), "true"), CA: s.Text("tls_ca"), Cert: s.Text("tls_cert"),
		Key: s.Text("tls_key"), Server: s.Text("tls_server_name"),
	}
	for _, name := range []string{"tls_ca", "tls_cert", "tls_key", "tls_server_name"} {
		if s.values[name] != "" && !t.Encrypted {
			s.errs = append(s.errs, fmt.Errorf("setting %s needs tls: true", name))
		}
	}
	if (t.Cert == "") != (t.Key == "") {
		s.errs = append(s.errs, errors.New("settings tls_cert and tls_key must be given together"))
	}
	return t
}

// Config returns the configuration of encrypted connections. The server's certificate is always verified: by the
// authorities of tls_ca and these, or without tls_ca by the system's.
func (t *TLS) Config(authorities *x509.CertPool) (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.Server}
	if t.CA != "" {
		pem, err := plainfile.Read(t.CA, plainfile.Small)
		if err != nil {
			return nil, fmt.Errorf("setting tls_ca: %w", err)
		}
		if c.RootCAs = authorities; !authorities.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("setting tls_ca: %s contains no certificate", t.CA)
		}
	}
	if t.Cert != "" {
		cert, cerr := plainfile.Read(t.Cert, plainfile.Small)
		key, kerr := plainfile.Read(t.Key, plainfile.Small)
		pair, err := tls.Certificate{}, errors.Join(cerr, kerr)
		if err == nil {
			pair, err = tls.X509KeyPair(cert, key)
		}
		if err != nil {
			return nil, fmt.Errorf("settings tls_cert and tls_key: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// Login is a user of an engine. It comes from environment variables: no flag, file or result holds it.
type Login struct{ User, Password string }

// ReadLogin reads a login from the variables of an engine: user, password, and file with the password. It
// is nil if there is none.
func ReadLogin(v []Setting, getenv func(string) string) (*Login, error) {
	user, password, file := getenv(v[0].Name), getenv(v[1].Name), getenv(v[2].Name)
	switch {
	case user == "" && password == "" && file == "":
		return nil, nil
	case user == "":
		return nil, fmt.Errorf("there is a password but no user: set %s too", v[0].Name)
	case password != "" && file != "":
		return nil, fmt.Errorf("%s and %s are both set: set only one", v[1].Name, v[2].Name)
	case file != "":
		b, err := plainfile.Read(file, plainfile.Small)
		if err != nil {
			return nil, fmt.Errorf("read the password named by %s: %w", v[2].Name, err)
		}
		password = strings.TrimRight(string(b), "\r\n")
	}
	if password == "" {
		return nil, fmt.Errorf("there is a user but no password: set %s or %s", v[1].Name, v[2].Name)
	}
	return &Login{user, password}, nil
}

// Hide returns an error whose text does not have the password, and further secrets, which a server may repeat as it
// was sent, or escaped.
func (l *Login) Hide(err error, secrets ...string) error {
	if l == nil || err == nil {
		return err
	}
	var pairs []string
	for _, secret := range append(secrets, l.Password, l.User+":"+l.Password, "\x00"+l.User+"\x00"+l.Password) {
		encoded := []byte(secret)
		for _, form := range []string{
			secret, strings.ReplaceAll(secret, " ", "+"),
			base64.RawStdEncoding.EncodeToString(encoded), base64.RawURLEncoding.EncodeToString(encoded),
		} {
			if form != "" {
				pairs = append(pairs, form, "…")
			}
		}
	}
	hide := strings.NewReplacer(pairs...)
	text := hide.Replace(err.Error())
	for _, e := range escapes {
		if plain := e.ReplaceAllStringFunc(text, unescape); hide.Replace(plain) != plain {
			text = hide.Replace(plain)
		}
	}
	if text == err.Error() {
		return err
	}
	return hidden{text, err}
}

// escapes are characters as URLs, as JSON and Go, and as HTML escape them.
var escapes = []*regexp.Regexp{
	regexp.MustCompile(`%[0-9A-Fa-f]{2}`),
	regexp.MustCompile(`\\u[0-9A-Fa-f]{4}|\\x[0-9A-Fa-f]{2}|\\.`),
	regexp.MustCompile(`&#?\w+;`),
}

func unescape(s string) string {
	if s[0] == '&' {
		return html.UnescapeString(s)
	}
	if s[0] == '%' {
		s = `\x` + s[1:]
	}
	if plain, err := strconv.Unquote(`"` + s + `"`); err == nil {
		return plain
	}
	return s[1:]
}

// hidden is an error with another text.
type hidden struct {
	text string
	error
}

func (h hidden) Error() string { return h.text }
func (h hidden) Unwrap() error { return h.error }

// MayGo returns an error if a file, and not the user, sets who gets the password of an engine with these
// settings. user is the variable with the user's name. A certificate does not help: it proves a name, not
// whose it is.
func (o *Options) MayGo(engine string, settings []Setting, user string) error {
	refuse := func(name, value, flag string) error {
		if value == "" || slices.Contains(o.Named, name) {
			return nil
		}
		return fmt.Errorf("the workload sets %s to %s, and only you decide who gets a password: add %s%s, or unset %s",
			name, value, flag, value, user)
	}
	if err := refuse("contact", strings.Join(o.Contact, ","), "--contact "); err != nil {
		return err
	}
	for _, s := range settings {
		if err := refuse(s.Name, o.Settings[s.Name], "--set engines."+engine+"."+s.Name+"="); s.Guarded && err != nil {
			return err
		}
	}
	return nil
}

// HostOf returns the host of an address, which may have a port.
func HostOf(address string) string {
	if host, _, err := net.SplitHostPort(address); err == nil {
		return host
	}
	return strings.Trim(address, "[]")
}

// HostPort returns an address with a port: its own, or else the engine's default one.
func HostPort(address, port string) string {
	if _, _, err := net.SplitHostPort(address); err == nil {
		return address
	}
	return net.JoinHostPort(strings.Trim(address, "[]"), port)
}

// IsLoopback reports whether a host is localhost or a loopback address: a password that goes there stays
// on this machine.
func IsLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
