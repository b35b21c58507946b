// What the programs around real Velodyne drivers share: the points they hand over, and when to end.
//
// A program prints `ready` once its driver listens, and runs until its standard input ends, its sockets
// hold nothing that waits to be read, and no points have come for half a second. Then it writes all points: x y z intensity, four floats each,
// in the driver's frame and order.

#pragma once

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

// Calls `act` for every UDP socket of this process.
template <typename Act>
void each_datagram_socket(Act act)
{
    for (int file = 3; file < 64; ++file) {
        int type = 0;
        socklen_t length = sizeof type;
        if (getsockopt(file, SOL_SOCKET, SO_TYPE, &type, &length) == 0 && type == SOCK_DGRAM)
            act(file);
    }
}

// Whether the driver has not read yet all that has arrived: a busy machine may keep it waiting.
inline bool datagrams_wait()
{
    bool some = false;
    each_datagram_socket([&](int file) {
        int bytes = 0;
        some = some || (ioctl(file, FIONREAD, &bytes) == 0 && bytes > 0);
    });
    return some;
}

class Cloud {
public:
    void add(float x, float y, float z, float intensity)
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        floats_.insert(floats_.end(), {x, y, z, intensity});
        last_ = std::chrono::steady_clock::now();
    }

    void sweep_ends()
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        ++sweeps_;
    }

    // Half a second has gone by since `add`, since datagrams waited to be read, or since the first call
    // of this.
    bool is_quiet()
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        const auto now = std::chrono::steady_clock::now();
        if (last_ == std::chrono::steady_clock::time_point() || datagrams_wait())
            last_ = now;
        return now - last_ > std::chrono::milliseconds(500);
    }

    void write(const char* path)
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        std::ofstream file(path, std::ios::binary);
        file.write(reinterpret_cast<const char*>(floats_.data()),
                   static_cast<std::streamsize>(floats_.size() * sizeof(float)));
        if (!file.flush())
            throw std::runtime_error(std::string("cannot write ") + path);
        std::printf("%zu sweeps\n", sweeps_);
    }

private:
    std::mutex mutex_;
    std::vector<float> floats_;
    std::size_t sweeps_ = 0;
    std::chrono::steady_clock::time_point last_;
};

// Neither driver sets the receive buffer of its socket. The system's default holds some 90 packets,
// too few where the processor is shared; a robot's administrator raises net.core.rmem_default, and
// this does so for this process alone.
inline void widen_receive_buffers()
{
    each_datagram_socket([](int file) {
        const int bytes = 256 << 20;
        if (setsockopt(file, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) != 0)
            setsockopt(file, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    });
}

// Whether standard input has ended.
inline bool told_to_end()
{
    pollfd input{STDIN_FILENO, POLLIN, 0};
    char byte = 0;
    return poll(&input, 1, 0) == 1 && read(STDIN_FILENO, &byte, 1) <= 0;
}
