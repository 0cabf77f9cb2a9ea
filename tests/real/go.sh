# needs: go
# timeout: 300
# A Go program built without the network, and run.
export GOCACHE=$PWD/.cache GOPATH=$PWD/.go GOFLAGS=-mod=mod GOPROXY=off GOTOOLCHAIN=local
mkdir g && cd g && cat >go.mod <<'X'
module t

go 1.18
X
cat >main.go <<'X'
package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"sync"
)

func main() {
	var wg sync.WaitGroup
	var mu sync.Mutex
	s := 0
	for i := 0; i < 100; i++ {
		wg.Add(1)
		go func(n int) { defer wg.Done(); mu.Lock(); s += n; mu.Unlock() }(i)
	}
	wg.Wait()
	fmt.Println(s)
	out, err := exec.Command("echo", "child").Output()
	fmt.Println(string(out), err)
	os.WriteFile("f", []byte("abc"), 0600)
	b, _ := os.ReadFile("f")
	fmt.Println(string(b))
	_, err = os.Stat("none")
	fmt.Println(os.IsNotExist(err))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err == nil {
		go func() { c, _ := l.Accept(); c.Write([]byte("hi")); c.Close() }()
		c, _ := net.Dial("tcp", l.Addr().String())
		buf := make([]byte, 2)
		c.Read(buf)
		fmt.Println(string(buf))
	}
}
X
CGO_ENABLED=0 go build -p 2 -o t . && ./t
