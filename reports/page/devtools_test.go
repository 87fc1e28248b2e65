package page

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// browser is a Chromium without a window, driven by its DevTools protocol over a pair of
// pipes.
type browser struct {
	out     io.Writer
	answers chan answer
	session string
	id      int
	// Complaints are the console messages of pages, and requests that the browser refused.
	complaints []string
}

// answer is a message of the browser: the result of a command, or an event.
type answer struct {
	ID     int             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// withBrowser starts Chromium, calls use, and ends it. Whatever hangs ends with ctx.
func withBrowser(ctx context.Context, path, profile string, use func(*browser) error) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars",
		"--user-data-dir="+profile, "--remote-debugging-pipe", "about:blank")
	commandsRead, commands, err := os.Pipe()
	if err != nil {
		return err
	}
	defer commands.Close()
	answers, answersWrite, err := os.Pipe()
	if err != nil {
		return err
	}
	defer answers.Close()
	cmd.ExtraFiles = []*os.File{commandsRead, answersWrite} // 3 and 4
	inGroup(cmd)
	err = cmd.Start()
	_, _ = commandsRead.Close(), answersWrite.Close()
	if err != nil {
		return err
	}
	b := &browser{out: commands, answers: make(chan answer)}
	go b.listen(ctx, answers)
	err = b.within(ctx, use)
	cancel()
	_ = cmd.Wait() // it was killed
	return err
}

// within calls use, and leaves it when ctx ends.
func (b *browser) within(ctx context.Context, use func(*browser) error) error {
	done := make(chan error, 1)
	go func() { done <- use(b) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("the browser did not answer in time: %w", ctx.Err())
	}
}

func (b *browser) listen(ctx context.Context, in io.Reader) {
	defer close(b.answers)
	for r := bufio.NewReaderSize(in, 1<<20); ; {
		text, err := r.ReadBytes(0)
		if err != nil {
			return
		}
		var a answer
		if json.Unmarshal(text[:len(text)-1], &a) != nil {
			continue
		}
		select {
		case b.answers <- a:
		case <-ctx.Done():
			return
		}
	}
}

// call sends a command and reads its result, unless result is nil. It notes complaints
// that come meanwhile.
func (b *browser) call(method string, params, result any) error {
	b.id++
	m := map[string]any{"id": b.id, "method": method, "params": params}
	if b.session != "" {
		m["sessionId"] = b.session
	}
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if _, err := b.out.Write(append(text, 0)); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	for a := range b.answers {
		switch {
		case a.ID == b.id && a.Error != nil:
			return fmt.Errorf("%s: %s", method, a.Error.Message)
		case a.ID == b.id && result != nil:
			return json.Unmarshal(a.Result, result)
		case a.ID == b.id:
			return nil
		case a.Method == "Log.entryAdded", a.Method == "Runtime.consoleAPICalled", a.Method == "Runtime.exceptionThrown":
			b.complaints = append(b.complaints, string(a.Params))
		}
	}
	return fmt.Errorf("%s: the browser has ended", method)
}

// attach opens a tab for the commands that follow.
func (b *browser) attach() error {
	var target struct {
		ID string `json:"targetId"`
	}
	var session struct {
		ID string `json:"sessionId"`
	}
	if err := b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target); err != nil {
		return err
	}
	if err := b.call("Target.attachToTarget", map[string]any{"targetId": target.ID, "flatten": true}, &session); err != nil {
		return err
	}
	b.session = session.ID
	for _, domain := range []string{"Page", "Runtime", "Log"} {
		if err := b.call(domain+".enable", map[string]any{}, nil); err != nil {
			return err
		}
	}
	return nil
}

// look says how pages are shown.
type look struct {
	width, height int
	phone         bool
	media, scheme string
}

func (b *browser) look(l look) error {
	size := map[string]any{"width": l.width, "height": l.height, "deviceScaleFactor": 1, "mobile": l.phone}
	if err := b.call("Emulation.setDeviceMetricsOverride", size, nil); err != nil {
		return err
	}
	return b.call("Emulation.setEmulatedMedia", map[string]any{
		"media": l.media, "features": []map[string]string{{"name": "prefers-color-scheme", "value": l.scheme}},
	}, nil)
}

// open shows a page and waits until it is there.
func (b *browser) open(url string) error {
	var shown struct {
		Error string `json:"errorText"`
	}
	if err := b.call("Page.navigate", map[string]any{"url": url}, &shown); err != nil {
		return err
	}
	if shown.Error != "" {
		return fmt.Errorf("open %s: %s", url, shown.Error)
	}
	for {
		var ready bool
		if err := b.eval(`document.readyState === "complete" && location.href !== "about:blank"`, &ready); err != nil {
			return err
		}
		if ready {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// eval runs a script in the page and reads what it yields.
func (b *browser) eval(script string, value any) error {
	var r struct {
		Result struct {
			Value json.RawMessage `json:"value"`
		} `json:"result"`
		Exception *struct {
			Text      string `json:"text"`
			Exception struct {
				Description string `json:"description"`
			} `json:"exception"`
		} `json:"exceptionDetails"`
	}
	if err := b.call("Runtime.evaluate", map[string]any{"expression": script, "returnByValue": true}, &r); err != nil {
		return err
	}
	if r.Exception != nil {
		return fmt.Errorf("script: %s %s", r.Exception.Text, strings.TrimSpace(r.Exception.Exception.Description))
	}
	return json.Unmarshal(r.Result.Value, value)
}
